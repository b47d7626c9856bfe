package pipeline

import (
	"context"
	"net/netip"
	"slices"
	"time"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/publish/status"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// probedListeners takes the result of a probe: Programmed of a Gateway is known.
func (l *Loop) probedListeners(ctx context.Context, result probed, now time.Time) {
	p, wanted := l.probing[result.gateway]
	if !wanted || p != result.of {
		return // the Gateway is gone, or another of its name came
	}
	p.running = false
	if p.again {
		l.startProbe(ctx, result.gateway, p)
		return
	}
	l.board.setFacts(result.gateway, result.facts)
	l.reporter.stampGateway(l.board.current.Load(), result.gateway)
	if !allDone(result.facts.Listeners) {
		p.at, p.delay = now.Add(p.delay), min(2*p.delay, lastProbe)
	}
	l.tellReady()
}

// dueProbes probes again the Gateways whose listeners were not all programmed.
func (l *Loop) dueProbes(ctx context.Context, now time.Time) {
	for gateway, p := range l.probing {
		if !p.running && !p.at.IsZero() && !now.Before(p.at) {
			l.startProbe(ctx, gateway, p)
		}
	}
}

// nextProbe is when the first probe is due again.
func (l *Loop) nextProbe() (time.Time, bool) {
	var first time.Time
	for _, p := range l.probing {
		if !p.running && !p.at.IsZero() && (first.IsZero() || p.at.Before(first)) {
			first = p.at
		}
	}
	return first, !first.IsZero()
}

func allDone(listeners map[string]status.Programmed) bool {
	for _, p := range listeners {
		if !p.Done {
			return false
		}
	}
	return true
}

// waitingListeners are the accepted listeners that proxies have neither taken nor
// refused yet, and those of Gateways of which no listener serves.
func waitingListeners(g *Graph, s derive.State, b *board) []string {
	var out []string
	refused := map[model.GatewayID][]string{}
	serves := map[model.GatewayID]bool{}
	for key, listener := range derive.Items(s, g.Compiled.Model.Listeners) {
		p := b.factsOf(listener.Gateway).Listeners[key]
		switch {
		case p.Done:
			serves[listener.Gateway] = true
		case p.Reason == gateway_v1.ListenerReasonPortUnavailable || p.Reason == gateway_v1.ListenerReasonInvalid:
			refused[listener.Gateway] = append(refused[listener.Gateway], key)
		default:
			out = append(out, key)
		}
	}
	for gateway, listeners := range refused {
		if !serves[gateway] {
			out = append(out, listeners...)
		}
	}
	slices.Sort(out)
	return out
}

// bound is the address that a listener binds.
func (r *Reporter) bound(l model.Listener) netip.AddrPort {
	address := l.Address
	if !address.IsValid() {
		address = r.bind
	}
	return netip.AddrPortFrom(address, l.Port)
}

// appendUnique adds a text to a sorted list that does not have it.
func appendUnique(sorted []string, text string) []string {
	at, found := slices.BinarySearch(sorted, text)
	if found {
		return sorted
	}
	return slices.Insert(sorted, at, text)
}
