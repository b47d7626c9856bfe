package compile

import (
	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/features"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// entranceFeatures are the features of Gateway API that this file compiles.
var entranceFeatures = featureNames{
	features.SupportGatewayListenerFilters,
}

// filter reads the filters of a listener (GEP-5224). One that cannot be applied closes
// the listener: it keeps its host name and answers 500, as a listener with a wildcard
// might otherwise serve without any check what it must not let through.
func (l *listener) filter(spec *gateway_v1.ListenerFilters) {
	if spec == nil || len(spec.Requests) == 0 {
		return
	}
	field := l.Field + ".filters.requests"
	if l.Protocol != model.HTTP && l.Protocol != model.HTTPS {
		l.Refused = first(l.Refused, problemf(verdict.InvalidListenerFilter, field, "a listener of this protocol has no requests: use HTTP or HTTPS, or leave filters out"))
		return
	}
	l.Admits = min(len(spec.Requests), model.MaxAdmit)
	for i, f := range spec.Requests {
		l.addFilter(indexed(field, i), f)
	}
	if n := len(spec.Requests); n > model.MaxAdmit {
		l.Closed = first(l.Closed, problemf(verdict.InvalidListenerFilter, field, "%d filters: a listener can have %d", n, model.MaxAdmit))
	}
	if l.Closed != nil {
		l.Closed.Message += "; all requests answer 500, as no filter is skipped"
	}
}

func (l *listener) addFilter(field string, f gateway_v1.ListenerFilter) {
	switch {
	case f.Type == gateway_v1.ListenerFilterExternalAuth && f.ExternalAuth != nil:
		wish, why := readAuth(field+".externalAuth", *f.ExternalAuth)
		l.Filters = append(l.Filters, wish)
		if why != nil {
			why.Reason = verdict.InvalidListenerFilter
			l.Closed = first(l.Closed, why)
		}
	case f.Type == gateway_v1.ListenerFilterExtensionRef && f.ExtensionRef != nil:
		l.Closed = first(l.Closed, problemf(verdict.UnsupportedValue, field+".type", "%s: no filter of listeners is known here but ExternalAuth", f.Type))
		l.Extension = first(l.Extension, problemf(verdict.InvalidListenerFilterRef, field+".extensionRef", "kind %q of group %q is no filter known here", f.ExtensionRef.Kind, f.ExtensionRef.Group))
	default:
		l.Closed = first(l.Closed, problemf(verdict.InvalidListenerFilter, field+".type", "%q is no filter with its settings", f.Type))
	}
}

// entranceWish is what the requests of a listener pass before they are routed, before
// its services are resolved.
type entranceWish struct {
	Gateway model.GatewayID
	From    referrer
	Filters []authWish
	Closed  *problem
	// Serves tells that the listener has requests.
	Serves bool
}

// entrance is what they pass: services, or nothing does.
type entrance struct {
	Gateway  model.GatewayID
	Admit    []model.Auth
	Clusters []upstream
	Uses     []string // objects by "Kind ns/name", and permissions
	// Problem is why every request answers 500.
	Problem *problem
}

// entranceItems are the listeners of a Gateway that have filters, and are accepted
// but for those.
func entranceItems(_ *derive.Ctx, _ string, s served) []derive.Item[entranceWish] {
	var items []derive.Item[entranceWish]
	for i, l := range s.Listeners {
		if l.Admits > 0 && l.Refused == nil {
			items = append(items, derive.Item[entranceWish]{Key: l.id(), Value: entranceWish{
				Gateway: s.ID, From: l.section.referrer(), Filters: l.Filters, Closed: l.Closed, Serves: s.Outcomes[i].Serves,
			}})
		}
	}
	return items
}

// entrance resolves the services of a listener. One that cannot be asked closes it.
func (b *build) entrance(c *derive.Ctx, _ string, wish entranceWish) (entrance, bool) {
	if wish.Closed != nil {
		return entrance{Gateway: wish.Gateway, Problem: wish.Closed}, true
	}
	var r rule
	services, why := b.auths(c, wish.From, wish.Filters, &r)
	out := entrance{Gateway: wish.Gateway, Admit: services, Clusters: r.Clusters, Uses: distinct(r.Uses)}
	if why != nil {
		same := *why
		if same.Reason.Name != verdict.RefNotPermitted.Name {
			same.Reason = verdict.InvalidListenerFilterRef
		}
		same.Message += "; without an answer of it all requests answer 500"
		out.Admit, out.Clusters, out.Problem = nil, nil, &same
	}
	if !wish.Serves {
		out.Clusters, out.Uses = nil, nil
	}
	return out, true
}

// guard lets a host have no request that its listener does not admit. The key is that
// of a listener with filters, or empty.
func (b *build) guard(c *derive.Ctx, listener string, h model.VirtualHost) model.VirtualHost {
	if listener == "" {
		return h
	}
	at, known := derive.Get(c, b.entrances, listener)
	h.Admit, h.Closed = at.Admit, !known || at.Problem != nil
	return h
}

// entranceKey is the section's key where it has filters, and otherwise empty.
func (s section) entranceKey() string {
	if s.Admits == 0 {
		return ""
	}
	return s.key()
}

// entered adds to the listeners of an object why they let no request in.
func (b *build) entered(c *derive.Ctx, p part) part {
	p.Shut = make([]*problem, len(p.Listeners))
	for i, l := range p.Listeners {
		if l.Admits > 0 && l.Closed == nil {
			at, _ := derive.Get(c, b.entrances, l.key())
			p.Shut[i] = at.Problem
		}
	}
	return p
}

// shut tells of a route that no request of a listener reaches it.
func (b *build) shut(c *derive.Ctx, s section) bool {
	if s.Admits == 0 {
		return false
	}
	at, _ := derive.Get(c, b.entrances, s.key())
	return at.Problem != nil
}
