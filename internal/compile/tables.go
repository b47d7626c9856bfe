package compile

import (
	"strings"

	"slices"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// tableSpec is a route table that a served listener has, whether or not routes
// attach.
type tableSpec struct {
	ID      model.TableID
	Gateway model.GatewayID
	// Own are the domains of its listeners.
	Own []string
	// Others are the domains of other HTTPS listeners of the port: a request for
	// one of them came by the wrong connection.
	Others []string
}

// tableSpecs are the tables of one Gateway.
func tableSpecs(_ *derive.Ctx, _ string, s served) []derive.Item[tableSpec] {
	var items []derive.Item[tableSpec]
	add := func(t tableSpec) {
		items = append(items, derive.Item[tableSpec]{Key: string(t.ID), Value: t})
	}
	for _, p := range s.Ports {
		switch p.Protocol {
		case model.HTTP:
			t := tableSpec{ID: p.Sections[0].table(), Gateway: s.ID}
			for _, section := range p.Sections {
				t.Own = append(t.Own, domainOf(section.Hostname))
			}
			add(t)
		case model.HTTPS:
			for _, section := range p.Sections {
				add(tableSpec{ID: section.table(), Gateway: s.ID, Own: []string{domainOf(section.Hostname)}, Others: s.others(section)})
			}
		}
	}
	return items
}

// others are the domains of the HTTPS listeners that share a port with one of
// them, whether or not those have a certificate: requests for a listener that
// cannot serve must not end at another one.
func (s served) others(self section) []string {
	var out []string
	for _, l := range s.Listeners {
		if l.Accepted && l.Protocol == model.HTTPS && l.Port == self.Port && l.Name != self.Name {
			out = append(out, domainOf(l.Hostname))
		}
	}
	return distinct(out)
}

// table puts a table together: the hosts with routes, and hosts without for every
// other name of its listener, so that no request falls to a less specific one.
func (b *build) table(c *derive.Ctx, id string) (model.RouteTable, bool) {
	spec := derive.First(c, b.tablesByID, id, 1)[0].Value
	hosts := map[string]model.VirtualHost{}
	empty := model.VirtualHost{
		Table: spec.ID, Gateway: spec.Gateway,
		Origins: []model.Ref{{Collection: kindGateway, Name: string(spec.Gateway)}},
	}
	for _, domain := range spec.Others {
		empty.Domain, empty.Misdirected = domain, true
		hosts[domain] = empty
	}
	for _, domain := range spec.Own {
		empty.Domain, empty.Misdirected = domain, false
		hosts[domain] = empty
	}
	for _, item := range derive.All(c, b.hostsByTable, id) {
		if with := item.Value.Virtual; len(with.Routes) > 0 {
			hosts[with.Domain] = with
		}
	}
	out := model.RouteTable{ID: spec.ID, Gateway: spec.Gateway}
	for _, h := range sortedMap(hosts) {
		out.Hosts = append(out.Hosts, h)
	}
	slices.SortFunc(out.Hosts, func(a, b model.VirtualHost) int { return strings.Compare(a.Domain, b.Domain) })
	return out, true
}
