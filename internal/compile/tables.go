package compile

import (
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/gateway-api/pkg/features"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// tableFeatures are the features of Gateway API that this file compiles.
var tableFeatures = featureNames{
	features.SupportGatewayHTTPSListenerDetectMisdirectedRequests,
}

// tableSpec is a route table that a served listener has, whether or not routes
// attach.
type tableSpec struct {
	ID      model.TableID
	Gateway model.GatewayID
	// Own are the domains of its listeners.
	Own []string
	// Others are the domains of other HTTPS and TLS listeners of the port: a request for
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
				if section.Protocol != model.HTTPS {
					continue
				}
				add(tableSpec{ID: section.table(), Gateway: s.ID, Own: []string{domainOf(section.Hostname)}, Others: s.others(section)})
			}
		case model.TLS, model.TCP: // they have no requests
		}
	}
	return items
}

// others are the domains of the HTTPS and TLS listeners that share a port with one
// of them, whether or not those have a certificate: requests for a listener that
// cannot serve must not end at another one.
func (s served) others(self section) []string {
	var out []string
	for _, l := range s.Listeners {
		if l.Accepted && family(l.Protocol) == model.TLS && l.Port == self.Port && l.Name != self.Name {
			out = append(out, domainOf(l.Hostname))
		}
	}
	return distinct(out)
}

// table puts a table together: the hosts with routes, and hosts without for every
// other name of its listener, so that no request falls to a less specific one.
func (b *build) table(c *derive.Ctx, id string) (model.RouteTable, bool) {
	spec := derive.First(c, b.tablesByID, id, 1)[0].Value
	items := derive.All(c, b.hostsByTable, id)
	hosts := make([]model.VirtualHost, 0, len(items)+len(spec.Own)+len(spec.Others))
	for _, item := range items { // in order of domain, as their keys are
		if with := item.Value.Virtual; len(with.Routes) > 0 {
			hosts = append(hosts, with)
		}
	}
	for _, domain := range spec.Own {
		hosts = withDomain(hosts, spec.empty(domain, false))
	}
	for _, domain := range spec.Others {
		hosts = withDomain(hosts, spec.empty(domain, true))
	}
	return model.RouteTable{ID: spec.ID, Gateway: spec.Gateway, Hosts: hosts}, true
}

// empty is a host without routes: every request gets 404, or 421.
func (t tableSpec) empty(domain string, misdirected bool) model.VirtualHost {
	return model.VirtualHost{
		Table: t.ID, Gateway: t.Gateway, Domain: domain, Misdirected: misdirected,
		Origins: []model.Ref{{Collection: kindGateway, Name: string(t.Gateway)}},
	}
}

// withDomain puts a host in its place, unless there is one with its domain.
func withDomain(hosts []model.VirtualHost, h model.VirtualHost) []model.VirtualHost {
	at, taken := slices.BinarySearchFunc(hosts, h.Domain, func(h model.VirtualHost, domain string) int { return strings.Compare(h.Domain, domain) })
	if taken {
		return hosts
	}
	return slices.Insert(hosts, at, h)
}

// equalTables compares tables at the cost of what may differ: hosts that were not
// derived anew share their routes.
func equalTables(a, b model.RouteTable) bool {
	return a.ID == b.ID && a.Gateway == b.Gateway && slices.EqualFunc(a.Hosts, b.Hosts, func(a, b model.VirtualHost) bool {
		return sameMemory(a.Routes, b.Routes) && a.Domain == b.Domain && a.Misdirected == b.Misdirected || reflect.DeepEqual(a, b)
	})
}

func sameMemory[T any](a, b []T) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}
