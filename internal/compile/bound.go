package compile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// bound is one address and port that a Gateway serves on, before it is known
// where its connections go.
type bound struct {
	Listener model.Listener
	// Sections are the "gateway|listener" of TCP, TLS and UDP listeners.
	Sections []string
}

// key is the listener's key in the model: "namespace/name/address/port", with "/udp" for UDP.
func (l bound) key() string { return listenerKey(l.Listener) }

func listenerKey(l model.Listener) string {
	return string(l.Gateway) + "/" + bindKey(l.Address, portOf(int(l.Port), l.Protocol == model.UDP))
}

// boundItems are the bound ports of one Gateway.
func boundItems(_ *derive.Ctx, _ string, s served) []derive.Item[bound] {
	var items []derive.Item[bound]
	for _, p := range s.Ports {
		for _, address := range p.Addresses {
			l := bound{Listener: model.Listener{
				Gateway: s.ID, Address: address, Port: p.Number, Protocol: p.Protocol, Chains: p.Chains,
				Origins: append(s.origins(), p.sets()...),
			}}
			if p.Protocol == model.HTTP {
				l.Listener.Table, l.Listener.Admits = p.Sections[0].table(), p.admits()
			}
			for _, section := range p.Sections {
				if section.Protocol == model.TLS || !section.named() {
					l.Sections = append(l.Sections, section.key())
				}
			}
			items = append(items, derive.Item[bound]{Key: bindKey(address, p.key()), Value: l})
		}
	}
	return items
}

// admits is the most filters that a listener of the port has.
func (p port) admits() int {
	most := 0
	for _, s := range p.Sections {
		most = max(most, s.Admits)
	}
	return most
}

// origins are the objects that every listener of a Gateway rests on.
func (s served) origins() []model.Ref {
	out := []model.Ref{gatewayRef(s.ID)}
	for _, config := range s.Configs {
		out = append(out, model.Ref{Collection: "GatewayConfig", Name: config})
	}
	return out
}

// listener completes a bound port by where its connections go.
func (b *build) listener(c *derive.Ctx, key string) (model.Listener, bool) {
	at := derive.First(c, b.boundByKey, key, 1)[0].Value
	out := at.Listener
	var routes []string
	switch {
	case len(at.Sections) == 0:
		return out, true
	case out.Protocol == model.TCP || out.Protocol == model.UDP:
		if s, attached := derive.Get(c, b.streams, derive.JoinKey(at.Sections[0], "")); attached {
			out.Stream, routes = s.Forward, []string{s.Route}
		}
	default:
		out.Chains = nil
		for _, chain := range at.Listener.Chains {
			chains, by := b.chains(c, out.Gateway, chain)
			out.Chains, routes = append(out.Chains, chains...), append(routes, by...)
		}
		slices.SortStableFunc(out.Chains, func(a, b model.Chain) int {
			return cmp.Or(compareHosts(a.Hostname, b.Hostname), strings.Compare(a.Hostname, b.Hostname))
		})
	}
	out.Origins = slices.Clone(out.Origins)
	for _, route := range distinct(routes) {
		out.Origins = append(out.Origins, routeRef(route))
	}
	return out, true
}

// chains are those of one listener: for TLS, one for each server name that a
// route has. Its own name has one also without a route, which closes connections,
// so that no handshake falls to a less specific listener.
func (b *build) chains(c *derive.Ctx, g model.GatewayID, of model.Chain) (out []model.Chain, routes []string) {
	if of.Table != "" {
		return []model.Chain{of}, nil
	}
	own := false
	for _, item := range derive.Prefix(c, b.streams, derive.JoinKey(derive.JoinKey(string(g), of.Name), "")) {
		chain, s := of, item.Value
		chain.Name, chain.Hostname, chain.Stream = of.Name+"/"+s.Domain, hostOf(s.Domain), s.Forward
		own = own || chain.Hostname == of.Hostname
		out, routes = append(out, chain), append(routes, s.Route)
	}
	if !own {
		out = append(out, of)
	}
	return out, routes
}
