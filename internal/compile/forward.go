package compile

import (
	"fmt"
	"math"
	"strconv"
	"time"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

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
func (b *build) forward(c *derive.Ctx, field, routeKind, namespace string, refs []weighted, r *rule) *model.Forward {
	out := &model.Forward{}
	var usable, missing uint32
	dark := map[*problem]uint32{} // weights of backends that cannot be used
	for i, ref := range refs {
		at := indexed(field, i)
		found := b.resolve(c, at, routeKind, namespace, ref.Ref)
		filters := r.share(at, ref.Filters)
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
		r.Clusters = append(r.Clusters, found.Cluster)
		out.Backends = append(out.Backends, model.WeightedBackend{Cluster: found.Cluster.ID, Weight: ref.Weight, Filters: filters})
	}
	if usable+missing == 0 {
		r.Warnings = append(r.Warnings, problemf(verdict.NoBackends, field, "no backend has a weight above 0; all %s", unanswered(routeKind)))
	}
	for why, weight := range dark {
		why.Message += fmt.Sprintf("; %s of %s", percent(weight, usable+missing), unanswered(routeKind))
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
	if routeKind == kindTCPRoute {
		return "connections are closed"
	}
	return "requests answer 500"
}

// percent says what part of a whole a weight is.
func percent(weight, sum uint32) string {
	return strconv.FormatFloat(math.Round(1000*float64(weight)/float64(sum))/10, 'f', -1, 64) + "%"
}

// share reads the filters of one backend. Only header edits can be applied to a
// share; any other filter closes the rule.
func (r *rule) share(field string, specs []gateway_v1.HTTPRouteFilter) model.Filters {
	filters := readFilters(field+".filters", specs)
	r.Invalid = first(r.Invalid, filters.Invalid)
	if filters.Redirect != nil || filters.Rewrite != nil {
		filters.Closed = first(filters.Closed, problemf(verdict.NotYetSupported, field+".filters", "RequestRedirect and URLRewrite are not served for a single backend yet; requests answer 500 rather than skip it"))
	}
	r.Closed = first(r.Closed, filters.Closed, filters.Unresolved)
	return filters.Headers
}

// readTimeouts is the bound on a request: without retries a request to the
// backend is the whole of it, so the shorter of the two that is set.
func readTimeouts(field string, spec *gateway_v1.HTTPRouteTimeouts) (time.Duration, *problem) {
	if spec == nil {
		return 0, nil
	}
	request, why := readDuration(field+".request", spec.Request)
	toBackend, whyBackend := readDuration(field+".backendRequest", spec.BackendRequest)
	if request == 0 || toBackend != 0 && toBackend < request {
		request = toBackend
	}
	return request, first(why, whyBackend)
}

func readDuration(field string, spec *gateway_v1.Duration) (time.Duration, *problem) {
	if spec == nil {
		return 0, nil
	}
	d, err := time.ParseDuration(string(*spec))
	if err != nil || d < 0 {
		return 0, problemf(verdict.UnsupportedValue, field, "%q: must be a duration such as 1m30s", *spec)
	}
	return d, nil
}
