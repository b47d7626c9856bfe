package compile

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// served is what of a Gateway really serves, once it is known which ports it
// holds and which certificates can be used.
type served struct {
	gateway
	// Accepted tells that proxies should exist for it.
	Accepted bool
	// Valid tells that some listener is accepted; one that is closed is not.
	Valid bool
	Ports []port // in order of number, UDP last
	// Outcomes are those of the listeners, in their order.
	Outcomes []outcome
	// Presents is the certificate that backends are shown, and Unpresented why there
	// is none although there should be.
	Presents    model.CertificateID
	Unpresented *problem
	// Permissions that references of the Gateway need and have, and authorities
	// that it verifies clients by.
	Permissions []string
}

// port is one port that the Gateway holds, on some addresses.
type port struct {
	Number    uint16
	Protocol  model.Protocol // HTTPS where some listeners are and others are TLS
	Addresses []netip.Addr
	Sections  []section     // that serve, most specific host name first
	Chains    []model.Chain // of the sections, for HTTPS and TLS; those of TLS without routes
}

// outcome is what became of one listener beyond its own spec.
type outcome struct {
	// Lost is set when no address of the listener could be had, or no client could
	// be verified.
	Lost *problem
	// Missed are addresses that could not be had while others could.
	Missed  []*problem
	Chosen  chosen
	Clients clients
	Serves  bool
	Address netip.Addr // the first it is bound on
}

// serve decides which listeners of a Gateway serve.
func (b *build) serve(c *derive.Ctx, _ string, g gateway) (served, bool) {
	s := served{gateway: g, Outcomes: make([]outcome, len(g.Listeners))}
	if !g.claims() {
		return s, g.Managed
	}
	held := map[portKey]*port{}
	for i, l := range g.Listeners {
		if l.Refused != nil {
			continue
		}
		o := &s.Outcomes[i]
		if l.terminates() {
			o.Chosen, o.Clients = b.choose(c, l), b.verify(c, l)
			o.Lost = o.Clients.None
		}
		if l.Dark != nil {
			continue
		}
		addresses := b.bound(c, g, l, o)
		s.Accepted = s.Accepted || o.Lost == nil
		s.Valid = s.Valid || o.Lost == nil && l.Closed == nil
		o.Serves = o.Lost == nil && (!l.terminates() || len(o.Chosen.Good) > 0)
		if o.Serves {
			o.Address = addresses[0]
			s.Permissions = slices.Concat(s.Permissions, o.Chosen.Permissions, o.Clients.Uses, g.selection(l.Set))
			open(held, l, addresses, *o)
		}
	}
	b.present(c, &s)
	for _, p := range slices.SortedFunc(maps.Values(held), comparePorts) {
		p.order()
		s.Ports = append(s.Ports, *p)
	}
	s.Permissions = distinct(s.Permissions)
	return s, true
}

// bound returns the addresses of the Gateway that the listener has its port on.
func (b *build) bound(c *derive.Ctx, g gateway, l listener, o *outcome) []netip.Addr {
	var have []netip.Addr
	for _, address := range g.Addresses {
		to, lost := b.lost(c, g.ID, address, l.portKey())
		if !lost {
			have = append(have, address)
			continue
		}
		o.Missed = append(o.Missed, problemf(verdict.PortUnavailable, l.Field+".port",
			"%s is held by Gateway %s, %s: use another port, or set spec.addresses on one of the two",
			whereBound(effective(address, b.BindAddress), l.Port), to.Holder, to.Because).about(gatewayRef(to.Holder)))
	}
	if len(have) == 0 {
		o.Lost, o.Missed = first(o.Missed[0], o.Lost), nil
	}
	return have
}

// whereBound is "address:port" in messages.
func whereBound(address netip.Addr, port uint16) string {
	if !address.IsValid() {
		return fmt.Sprintf("port %d", port)
	}
	return netip.AddrPortFrom(address, port).String()
}

// open adds a listener to its port.
func open(held map[portKey]*port, l listener, addresses []netip.Addr, with outcome) {
	p := held[l.portKey()]
	if p == nil {
		p = &port{Number: l.Port, Protocol: l.Protocol, Addresses: addresses}
		held[l.portKey()] = p
	}
	p.Sections = append(p.Sections, l.section)
	switch l.Protocol {
	case model.HTTPS:
		p.Protocol = model.HTTPS
		p.Chains = append(p.Chains, model.Chain{Name: l.id(), Hostname: l.Hostname, Certificates: with.Chosen.Good, Clients: with.Clients.Check, Table: l.table(), Admits: l.Admits})
	case model.TLS:
		p.Chains = append(p.Chains, model.Chain{Name: l.id(), Hostname: l.Hostname, Certificates: with.Chosen.Good})
	case model.HTTP, model.TCP, model.UDP: // they have one chain
	}
}

func (p *port) key() portKey { return portOf(int(p.Number), p.Protocol == model.UDP) }

func comparePorts(a, b *port) int {
	return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.key(), b.key()))
}

// selection is the namespace selection that lets a ListenerSet in, if there is one.
func (g gateway) selection(set string) []string {
	for _, s := range g.Sets {
		if s.Name == set && s.Selection != "" {
			return []string{s.Selection}
		}
	}
	return nil
}

// sets are the ListenerSets whose listeners serve on the port.
func (p port) sets() []model.Ref {
	var names []string
	for _, s := range p.Sections {
		if s.Set != "" {
			names = append(names, s.Set)
		}
	}
	var out []model.Ref
	for _, name := range distinct(names) {
		out = append(out, setRef(name))
	}
	return out
}

func (p *port) order() {
	slices.SortFunc(p.Sections, func(a, b section) int {
		return cmp.Or(compareHosts(a.Hostname, b.Hostname), strings.Compare(a.Hostname, b.Hostname))
	})
	slices.SortFunc(p.Chains, func(a, b model.Chain) int {
		return cmp.Or(compareHosts(a.Hostname, b.Hostname), strings.Compare(a.Hostname, b.Hostname))
	})
}

// certificates are those that the Gateway serves with, in order.
func (s served) certificates() []model.CertificateID {
	var ids []model.CertificateID
	if s.Presents != "" {
		ids = append(ids, s.Presents)
	}
	for _, p := range s.Ports {
		for _, chain := range p.Chains {
			ids = append(ids, chain.Certificates...)
		}
	}
	return distinct(ids)
}

// modelGateway is the Gateway of the model, if it is accepted.
func (b *build) modelGateway(c *derive.Ctx, key string, s served) (model.Gateway, bool) {
	traced, _ := derive.Get(c, b.tracings, key)
	return model.Gateway{ID: s.ID, Generation: s.Generation, Settings: s.Settings, Tracing: traced.Tracing}, s.Accepted
}

// instant is a time in seconds since 1970; 0 is none.
func instant(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}
