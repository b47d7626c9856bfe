package pipeline

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/infra/host"
	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/publish/status"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// A listener is programmed when its proxy has acknowledged it, no listener of
// that proxy is warming, and a connection to its address succeeds, or for UDP a
// socket is bound to it. An acknowledgement alone does not say that a listener is warm.

// probe is the state of probing one Gateway's listeners.
type probe struct {
	running bool
	again   bool // something changed while it ran: its result is of yesterday
	at      time.Time
	delay   time.Duration // until the next one, which doubles
}

// probed is the result of probing one Gateway's listeners.
type probed struct {
	gateway model.GatewayID
	of      *probe
	facts   status.Facts
}

// target is one listener to probe.
type target struct {
	key     string // of the model
	name    string // of the resource
	address netip.AddrPort
	udp     bool
}

// Bounds of one probe, and of the delay between two.
const (
	probeTimeout = 3 * time.Second
	firstProbe   = 10 * time.Millisecond
	lastProbe    = 2 * time.Second
)

// reprobe probes the Gateways whose listeners an update touches: until then
// nothing is known of these listeners.
func (l *Loop) reprobe(ctx context.Context, u xdsserve.Update) {
	touched := map[string][]string{}
	for _, r := range u.Set {
		if r.Type == xdsserve.Listener {
			touched[r.Group] = append(touched[r.Group], r.Name.Name)
		}
	}
	for _, s := range u.Remove {
		if s.Type == xdsserve.Listener {
			touched[s.Group] = append(touched[s.Group], s.Name.Name)
			l.retries.acknowledged(s)
		}
	}
	for _, group := range sortedKeys(touched) {
		l.board.unprove(model.GatewayID(group), touched[group])
		l.probeSoon(ctx, group)
	}
}

// probeSettled probes a Gateway whose listeners were not all programmed when its
// proxy has answered everything.
func (l *Loop) probeSettled(ctx context.Context, e xdsserve.Event) {
	gateway := model.GatewayID(e.Group)
	facts := l.board.factsOf(gateway)
	for _, t := range l.targets(gateway) {
		if !facts.Listeners[t.key].Done {
			l.probeSoon(ctx, e.Group)
			return
		}
	}
}

// probeSoon starts probing a Gateway, or once more when it is being probed.
func (l *Loop) probeSoon(ctx context.Context, group string) {
	gateway := model.GatewayID(group)
	if _, wanted := derive.Lookup(l.accepted, l.Graph.Compiled.Model.Gateways, group); !wanted {
		return
	}
	p, ok := l.probing[gateway]
	if !ok {
		p = &probe{}
		l.probing[gateway] = p
	}
	p.delay = firstProbe
	if p.running {
		p.again = true
		return
	}
	l.startProbe(ctx, gateway, p)
}

func (l *Loop) startProbe(ctx context.Context, gateway model.GatewayID, p *probe) {
	p.running, p.again, p.at = true, false, time.Time{}
	targets := l.targets(gateway)
	l.tasks.Go(func() {
		result := probed{gateway: gateway, of: p, facts: l.probeListeners(ctx, gateway, targets)}
		select {
		case l.probes <- result:
		case <-ctx.Done():
		}
	})
}

func (l *Loop) targets(gateway model.GatewayID) []target {
	var out []target
	for key, listener := range derive.ItemsWithPrefix(l.accepted, l.Graph.Compiled.Model.Listeners, string(gateway)+"/") {
		output, _ := derive.Lookup(l.accepted, l.Graph.Envoy.Listeners, key)
		if output.Resource == nil {
			continue
		}
		out = append(out, target{key: key, name: output.Resource.Name.Name, address: l.reporter.bound(listener), udp: listener.Protocol == model.UDP})
	}
	return out
}

// probeListeners looks once at every target.
func (l *Loop) probeListeners(ctx context.Context, gateway model.GatewayID, targets []target) status.Facts {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	out := status.Facts{Listeners: map[string]status.Programmed{}}
	warming, err := l.Proxies.WarmingListeners(ctx, gateway)
	for _, t := range targets {
		p := l.programmed(ctx, gateway, t, warming, err)
		out.Listeners[t.key] = p
		if p.Done {
			out.Addresses = appendUnique(out.Addresses, t.address.Addr().String())
		}
	}
	return out
}

func (l *Loop) programmed(ctx context.Context, gateway model.GatewayID, t target, warming int, err error) status.Programmed {
	name := xdsserve.Name{Type: xdsserve.Listener, Name: t.name}
	standing := l.Target.Standing(string(gateway), name)
	switch {
	case len(standing.Refusals) > 0:
		return refusedListener(t, standing.Refusals[0])
	case err != nil:
		return pendingListener(fmt.Sprintf("the proxy does not answer: %v", err))
	case standing.Total == 0 || standing.Acknowledged < standing.Total:
		return pendingListener(fmt.Sprintf("acknowledged by %d of %d proxies", standing.Acknowledged, standing.Total))
	case warming > 0:
		return pendingListener(fmt.Sprintf("%d listeners of the proxy are warming", warming))
	}
	if err := l.Reach(ctx, t.network(), t.address); err != nil {
		return pendingListener(fmt.Sprintf("acknowledged, but no connection: %v", err))
	}
	return status.Programmed{Done: true}
}

func (t target) network() string {
	if t.udp {
		return "udp"
	}
	return "tcp"
}

func pendingListener(message string) status.Programmed {
	return status.Programmed{Reason: gateway_v1.ListenerReasonPending, Message: message}
}

// refusedListener explains a refusal; a port in use is the common one.
func refusedListener(t target, r xdsserve.Refusal) status.Programmed {
	if !cannotBind(r.Message) {
		return status.Programmed{Reason: gateway_v1.ListenerReasonInvalid, Message: "the proxy refused the listener: " + r.Message}
	}
	return status.Programmed{Reason: gateway_v1.ListenerReasonPortUnavailable, Message: unbound(t.address.String(), r.Message)}
}

// unbound explains an address that cannot be bound.
func unbound(address, message string) string {
	why := "cannot be bound; choose another port or spec.addresses"
	switch {
	case strings.Contains(message, "already in use"):
		why = "is in use by another process; stop it, or choose another port or spec.addresses"
	case strings.Contains(message, "Cannot assign"):
		why = "is no address of this machine; choose another in spec.addresses or --bind-address"
	case strings.Contains(message, "Permission denied"):
		why = "may not be bound by this user; choose a port from 1024 up, or run with CAP_NET_BIND_SERVICE"
	}
	return fmt.Sprintf("%s %s; tried again at least every %s (%s)", address, why, lastRetry, message)
}

// reach opens and closes a connection. A datagram would reach a backend, so that for
// UDP the kernel is asked instead.
func reach(ctx context.Context, network string, address netip.AddrPort) error {
	if network == "udp" {
		return host.UDPBound(address)
	}
	if address.Addr().IsUnspecified() {
		address = netip.AddrPortFrom(loopbackOf(address.Addr()), address.Port())
	}
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(address.Addr().String(), strconv.Itoa(int(address.Port()))))
	if err != nil {
		return err
	}
	return conn.Close()
}

func loopbackOf(unspecified netip.Addr) netip.Addr {
	if unspecified.Is4() {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return netip.IPv6Loopback()
}
