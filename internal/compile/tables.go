package compile

import (
	"reflect"
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
	Own []ownDomain
	// Others are the domains of other HTTPS and TLS listeners of the port, or of all of
	// them: a request for one of them came by the wrong connection.
	Others []string
	// Entrance is the key of an HTTPS listener that has filters, or "": all requests of
	// its connections pass them.
	Entrance string
}

// ownDomain is the domain of a listener, and the ListenerSet that has it, or "".
type ownDomain struct {
	Domain, Set string
	// Entrance is the key of the listener where it has filters, or "".
	Entrance string
}

func (s section) ownDomain() ownDomain {
	return ownDomain{domainOf(s.Hostname), s.Set, s.entranceKey()}
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
				t.Own = append(t.Own, section.ownDomain())
			}
			add(t)
		case model.HTTPS:
			domains := s.domains(p.Number)
			for _, section := range p.Sections {
				if section.Protocol != model.HTTPS {
					continue
				}
				add(tableSpec{
					ID: section.table(), Gateway: s.ID, Own: []ownDomain{section.ownDomain()},
					Others: others(section.Hostname, domains), Entrance: section.entranceKey(),
				})
			}
		case model.TLS, model.TCP, model.UDP: // they have no requests
		}
	}
	return items
}

// domains are those of the HTTPS and TLS listeners of a port, whether or not they have
// a certificate: requests for a listener that cannot serve must not end at another one.
func (s served) domains(port uint16) []string {
	var out []string
	for _, l := range s.Listeners {
		if l.Accepted && family(l.Protocol) == model.TLS && l.Port == port {
			out = append(out, domainOf(l.Hostname))
		}
	}
	return distinct(out)
}

// crowd is how many domains a port may have for every table to tell those of other
// listeners, which get 421, from names that no listener has, which get 404. Above it
// everything but a table's own domain gets 421: otherwise n listeners would have n
// times n domains, and each that comes or goes would change the tables of all.
const crowd = 64

// others are the domains of a port for which a listener's table answers 421. Those
// within the listener's own are always among them.
func others(own string, domains []string) []string {
	if len(domains) > crowd && own != "" && !strings.HasPrefix(own, "*") {
		return []string{anyHost}
	}
	var out []string
	for _, domain := range domains {
		if domain != domainOf(own) && (len(domains) <= crowd || covers(own, hostOf(domain))) {
			out = append(out, domain)
		}
	}
	if len(domains) > crowd && own != "" {
		out = append(out, anyHost)
	}
	return out
}

// A table with more exact host names than scopedAbove is scoped, and one with fewer
// than wholeBelow is not; between them it stays as it is. A change of a small table
// as a whole costs no more than one of a scope, and requests through it cost less.
const (
	scopedAbove = 256
	wholeBelow  = 192
)

// table settles how the hosts of a table are looked up, from their number alone:
// it is asked again when a host comes or goes, and not when one changes.
func (b *build) table(c *derive.Ctx, id string, spec tableSpec) (model.RouteTable, bool) {
	last, known := derive.Get(c, b.in.layouts, id)
	scoped := scopes(derive.Size(c, b.exactByTable, id), last)
	return model.RouteTable{
		ID: spec.ID, Gateway: spec.Gateway,
		Scoped: scoped, Both: known && (last.Leaving || last.Scoped != scoped),
	}, true
}

func scopes(hosts int, last model.Layout) bool {
	if last.Held {
		return last.Scoped
	}
	return hosts > scopedAbove || last.Scoped && hosts >= wholeBelow
}

// virtualHost is a host that has routes. Where none is left, other hosts decide.
func (b *build) virtualHost(c *derive.Ctx, _ string, h host) (model.VirtualHost, bool) {
	return b.guard(c, h.Entrance, h.Virtual), len(h.Virtual.Routes) > 0
}

// blanks are hosts without routes for every name of the table's listeners, so that
// no request falls to a less specific one. A host with routes goes before. Where an
// HTTPS listener has filters, requests of its connections pass them for any host.
func (b *build) blanks(c *derive.Ctx, _ string, spec tableSpec) []derive.Item[model.VirtualHost] {
	var items []derive.Item[model.VirtualHost]
	taken := map[string]bool{}
	add := func(own ownDomain, misdirected bool) {
		if !taken[own.Domain] {
			taken[own.Domain] = true
			items = append(items, derive.Item[model.VirtualHost]{Key: own.Domain, Value: b.guard(c, own.Entrance, spec.empty(own, misdirected))})
		}
	}
	for _, own := range spec.Own {
		add(own, false)
	}
	for _, domain := range spec.Others {
		add(ownDomain{Domain: domain, Entrance: spec.Entrance}, true)
	}
	if spec.Entrance != "" {
		add(ownDomain{Domain: anyHost, Set: spec.Own[0].Set, Entrance: spec.Entrance}, false)
	}
	return items
}

// empty is a host without routes: every request gets 404, or 421.
func (t tableSpec) empty(own ownDomain, misdirected bool) model.VirtualHost {
	return model.VirtualHost{
		Table: t.ID, Gateway: t.Gateway, Domain: own.Domain, Misdirected: misdirected,
		Origins: section{Gateway: t.Gateway, Set: own.Set}.origins(),
	}
}

// sameVirtual compares hosts at the cost of what may differ: one that was not
// derived anew shares its routes.
func sameVirtual(a, b model.VirtualHost) bool {
	return sameMemory(a.Routes, b.Routes) && a.Table == b.Table && a.Domain == b.Domain && a.Misdirected == b.Misdirected &&
		a.Closed == b.Closed && reflect.DeepEqual(a.Admit, b.Admit) || reflect.DeepEqual(a, b)
}

func sameMemory[T any](a, b []T) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}
