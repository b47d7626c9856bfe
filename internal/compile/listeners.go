package compile

import (
	"slices"
	"strings"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// section is a listener of a Gateway as routes see it: what decides whether a
// route attaches. Certificates and ports held by others are no part of it, so
// they re-run no route.
type section struct {
	Gateway model.GatewayID
	// Set is the ListenerSet that has the listener, "namespace/name"; empty where
	// it is the Gateway itself.
	Set      string
	Name     string
	Port     uint16
	Protocol model.Protocol // empty when it is not served
	Hostname string         // lower case; empty for any
	// Passthrough tells that TLS goes through to the backend as it is.
	Passthrough bool
	Kinds       []string // of routes that may attach, in order
	Scope       scope
	// Admits is how many filters requests pass before they are routed.
	Admits int
	// Accepted tells that the listener is valid in itself and that none of its Gateway
	// goes before it; one of a ListenerSet also has what it needs to serve.
	Accepted bool
}

// named tells that requests or connections of the section have a host name.
func (s section) named() bool { return s.Protocol != model.TCP && s.Protocol != model.UDP }

func (s section) portKey() portKey { return portOf(int(s.Port), s.Protocol == model.UDP) }

// family is the protocols that share a port by server name: HTTPS and TLS, for
// which TLS stands, or one alone.
func family(p model.Protocol) model.Protocol {
	if p == model.HTTPS {
		return model.TLS
	}
	return p
}

// table is the route table of the section.
func (s section) table() model.TableID { return tableID(s.Gateway, s.Port, s.Protocol, s.id()) }

// id tells the section from all others of its Gateway: its name, or
// "namespace/name/listener" of a ListenerSet's, as names repeat between sets.
func (s section) id() string {
	if s.Set == "" {
		return s.Name
	}
	return s.Set + "/" + s.Name
}

// key is "gateway|listener".
func (s section) key() string { return derive.JoinKey(string(s.Gateway), s.id()) }

// holder is the object that has the listener.
func (s section) holder() store.Key {
	if s.Set == "" {
		return store.Key{Collection: kindGateway, Name: string(s.Gateway)}
	}
	return setRef(s.Set)
}

// referrer is who refers to the listener's certificates.
func (s section) referrer() referrer {
	holder := s.holder()
	namespace, _ := snapshot.SplitName(holder.Name)
	return referrer{Kind: holder.Collection, Namespace: namespace}
}

// origins are the objects that what serves the section rests on.
func (s section) origins() []model.Ref {
	out := []model.Ref{{Collection: kindGateway, Name: string(s.Gateway)}}
	if s.Set != "" {
		out = append(out, setRef(s.Set))
	}
	return out
}

// title names the listener and whose it is.
func (s section) title() string { return "listener " + s.Name + " of " + s.holder().String() }

// listener is a section together with what its Gateway needs to serve it.
type listener struct {
	section
	Field        string // "spec.listeners[0]"
	Certificates []certificateRef
	// Clients is how certificates of clients are verified; nil is not at all.
	Clients *clientWish
	// Filters are what requests pass before they are routed, in order.
	Filters []authWish
	// Closed is why every request answers 500 although the listener could be dropped:
	// others might serve what it must not let through. It is not accepted then.
	Closed *problem
	// Extension is the first filter of a kind that is not known.
	Extension *problem
	// Refused is why the listener is not accepted, and nothing is served.
	Refused *problem
	// Conflict is set when what refuses the listener is another one.
	Conflict bool
	// Kinds that cannot attach to the protocol.
	InvalidKinds *problem
	// Dark is why a listener of a ListenerSet that is valid has nothing to serve
	// with. It then holds neither its port nor its host name.
	Dark *problem
	// Overlaps are the HTTPS listeners of the port whose host names cover this
	// one's or are covered by it.
	Overlaps []section
	Warnings []*problem
}

// terminates tells that the listener needs certificates.
func (l listener) terminates() bool { return family(l.Protocol) == model.TLS && !l.Passthrough }

// readListeners reads the listeners of a Gateway or a ListenerSet.
func readListeners(of section, specs []gateway_v1.Listener) []listener {
	out := make([]listener, len(specs))
	for i, spec := range specs {
		l := listener{section: of, Field: indexed("spec.listeners", i)}
		l.Name, l.Port = string(spec.Name), uint16(spec.Port)
		l.Hostname = strings.ToLower(string(orElse(spec.Hostname, "")))
		if l.Hostname != "" {
			l.Refused = hostname(l.Field+".hostname", l.Hostname, true)
		}
		l.speak(spec.Protocol)
		l.admit(spec.AllowedRoutes)
		if family(l.Protocol) == model.TLS {
			l.terminate(spec.TLS)
		}
		l.filter(spec.Filters)
		if spec.TLS != nil && len(spec.TLS.Options) > 0 {
			l.Warnings = append(l.Warnings, problemf(verdict.NoEffect, l.Field+".tls.options", "options belong to other implementations; Gatehouse defines none"))
		}
		out[i] = l
	}
	return out
}

// distinguish settles the conflicts among the listeners of one object.
func distinguish(all []listener) {
	conflict(pointers(all))
	for i := range all {
		all[i].Accepted = all[i].Refused == nil
	}
}

func pointers(all []listener) []*listener {
	out := make([]*listener, len(all))
	for i := range all {
		out[i] = &all[i]
	}
	return out
}

// speak sets the protocol, or why it is not served.
func (l *listener) speak(protocol gateway_v1.ProtocolType) {
	switch p := model.Protocol(protocol); p {
	case model.HTTP, model.HTTPS, model.TLS:
		l.Protocol = p
	case model.TCP, model.UDP:
		l.Protocol, l.Hostname = p, ""
	default:
		l.Refused = first(l.Refused, problemf(verdict.UnsupportedProtocol, l.Field+".protocol", "%q is not served: use HTTP, HTTPS, TLS, TCP or UDP", protocol))
	}
}

// admit reads allowedRoutes: which kinds may attach, and from where.
func (l *listener) admit(allowed *gateway_v1.AllowedRoutes) {
	fit, namespace := snapshot.RouteKinds[gateway_v1.ProtocolType(l.Protocol)], l.referrer().Namespace
	l.Kinds = slices.Clone(fit)
	if allowed == nil {
		l.Scope = scope{Namespace: namespace}
		return
	}
	if len(allowed.Kinds) > 0 {
		l.Kinds = nil
		for i, k := range allowed.Kinds {
			if string(orElse(k.Group, gatewayGroup)) == gatewayGroup && slices.Contains(fit, string(k.Kind)) {
				l.Kinds = append(l.Kinds, string(k.Kind))
			} else if l.InvalidKinds == nil {
				l.InvalidKinds = problemf(verdict.InvalidRouteKinds, indexed(l.Field+".allowedRoutes.kinds", i), "%s cannot attach to a listener of this protocol", k.Kind)
			}
		}
		l.Kinds = distinct(l.Kinds)
	}
	var why *problem
	l.Scope, why = readScope(l.Field+".allowedRoutes.namespaces", allowed.Namespaces, namespace)
	l.Refused = first(l.Refused, why)
	if n := allowed.Namespaces; n != nil {
		l.Warnings = append(l.Warnings, idleSelector(l.Field+".allowedRoutes.namespaces", orElse(n.From, gateway_v1.NamespacesFromSame), n.Selector)...)
	}
}
