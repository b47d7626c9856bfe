package compile

import (
	"fmt"
	"math"
	"strconv"

	core_v1 "k8s.io/api/core/v1"
	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// referrer is what refers to backends and Secrets: a route, a Gateway or a policy.
type referrer struct {
	Kind, Namespace string
	// GRPC tells that it speaks gRPC, of whatever kind it is.
	GRPC bool
	// Through tells that TLS of clients goes through to the backend as it is.
	Through bool
}

// datagrams tells that the route forwards datagrams, and not connections.
func (r referrer) datagrams() bool { return r.Kind == kindUDPRoute }

func (r referrer) transport() core_v1.Protocol {
	if r.datagrams() {
		return core_v1.ProtocolUDP
	}
	return core_v1.ProtocolTCP
}

// speaks is the kind of route whose protocol a referrer speaks: a policy sends
// telemetry by gRPC, and a listener asks services by HTTP unless it says otherwise.
func (r referrer) speaks() string {
	if r.GRPC || r.Kind == kindXTelemetryPolicy {
		return kindGRPCRoute
	}
	if r.Kind == kindGateway || r.Kind == kindListenerSet {
		return kindHTTPRoute
	}
	return r.Kind
}

// weighted is a backendRef of any kind of route.
type weighted struct {
	Ref     gateway_v1.BackendObjectReference
	Weight  uint32
	Filters []gateway_v1.HTTPRouteFilter
}

func httpBackends(refs []gateway_v1.HTTPBackendRef) []weighted {
	out := make([]weighted, len(refs))
	for i, ref := range refs {
		out[i] = weighted{ref.BackendObjectReference, weightOf(ref.Weight), ref.Filters}
	}
	return out
}

func plainBackends(refs []gateway_v1.BackendRef) []weighted {
	out := make([]weighted, len(refs))
	for i, ref := range refs {
		out[i] = weighted{Ref: ref.BackendObjectReference, Weight: weightOf(ref.Weight)}
	}
	return out
}

func weightOf(w *int32) uint32 { return uint32(max(0, orElse(w, 1))) }

// forward resolves the backends of a rule. It returns nil where no backend that
// has a weight can be used: then every request has the answer of a missing backend.
func (b *build) forward(c *derive.Ctx, from referrer, field string, refs []weighted, kept *session, r *rule) *model.Forward {
	out := &model.Forward{}
	var usable, missing uint32
	dark := map[*problem]uint32{} // weights of backends that cannot be used
	var names sessionNames
	for i, ref := range refs {
		at := indexed(field, i)
		found := b.resolve(c, at, from, ref.Ref)
		filters := r.share(at, ref.Filters)
		if found.Problem == nil && ref.Weight > 0 {
			if found.Problem = b.shareAuths(c, from, &filters, r); found.Problem != nil {
				found.Uses = nil
			}
		}
		if found.Problem != nil {
			r.Unresolved = append(r.Unresolved, found.Problem)
		}
		if ref.Weight == 0 {
			continue
		}
		r.Uses = append(r.Uses, found.Uses...)
		if found.Problem != nil {
			missing += ref.Weight
			dark[found.Problem] = ref.Weight
			continue
		}
		usable += ref.Weight
		share := b.give(c, from, ref.Weight, found, filters, r)
		if share.Redirect == nil {
			share.Session = names.session(r.session(kept, found), share.Cluster)
		}
		out.Backends = append(out.Backends, share)
	}
	if names.Shared != "" {
		r.Warnings = append(r.Warnings, problemf(verdict.NoEffect, field, "sessions of several backends share the header %s: one ends when a request goes to another backend; use type Cookie", names.Shared))
	}
	if usable+missing == 0 {
		r.Warnings = append(r.Warnings, problemf(verdict.NoBackends, field, "no backend has a weight above 0; all %s", unanswered(from.Kind)))
	}
	for why, weight := range dark {
		why.Message += fmt.Sprintf("; %s of %s", percent(weight, usable+missing), unanswered(from.Kind))
	}
	if usable == 0 {
		r.Clusters, r.Dark = nil, true
		return nil
	}
	if missing > 0 {
		out.Backends = append(out.Backends, model.WeightedBackend{Weight: missing})
	}
	return out
}

// unanswered says what becomes of what a missing backend would get.
func unanswered(routeKind string) string {
	switch routeKind {
	case kindTCPRoute, kindTLSRoute:
		return "connections are closed"
	case kindUDPRoute:
		return "datagrams are dropped"
	case kindGRPCRoute:
		return "calls end with UNAVAILABLE"
	default:
		return "requests answer 500"
	}
}

// percent says what part of a whole a weight is.
func percent(weight, sum uint32) string {
	return strconv.FormatFloat(math.Round(1000*float64(weight)/float64(sum))/10, 'f', -1, 64) + "%"
}

// share reads the filters of one backend, which apply to its share only.
func (r *rule) share(field string, specs []gateway_v1.HTTPRouteFilter) filterSet {
	filters := readFilters(field+".filters", specs)
	r.Invalid = first(r.Invalid, filters.Invalid)
	r.Closed = first(r.Closed, filters.Closed, filters.Unresolved, r.tooManyAuths(field+".filters", filters))
	r.replacesPrefix(field+".filters", filters)
	return filters
}

// give adds a backend that can be used to those of a rule.
func (b *build) give(c *derive.Ctx, from referrer, weight uint32, to backend, filters filterSet, r *rule) model.WeightedBackend {
	out := model.WeightedBackend{
		Cluster: to.Cluster.ID, Weight: weight,
		Filters: filters.Headers, Redirect: filters.Redirect, Rewrite: filters.Rewrite,
	}
	if out.Redirect != nil {
		return out
	}
	r.Clusters = append(r.Clusters, to.Cluster)
	out.Filters.Mirrors = b.mirrors(c, from, filters.Mirrors, r)
	return out
}
