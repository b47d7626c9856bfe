package compile

import (
	"strings"

	"golang.org/x/net/http/httpguts"
	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// authWish is an ExternalAuth filter before its backend is resolved.
type authWish struct {
	Field string // of the backendRef
	To    gateway_v1.BackendObjectReference
	model.Auth
}

// readAuth reads an ExternalAuth filter. A value that cannot be served closes what the
// filter stands on: a rule that was dropped would leave its requests to others.
func readAuth(field string, spec gateway_v1.HTTPExternalAuthFilter) (authWish, *problem) {
	out := authWish{Field: field + ".backendRef", To: spec.BackendRef}
	var why *problem
	switch spec.ExternalAuthProtocol {
	case gateway_v1.HTTPRouteExternalAuthGRPCProtocol:
		out.GRPC = true
		if spec.GRPCAuthConfig != nil {
			out.Ask, why = readHeaderNames(field+".grpc.allowedHeaders", spec.GRPCAuthConfig.AllowedRequestHeaders)
		}
	case gateway_v1.HTTPRouteExternalAuthHTTPProtocol:
		if spec.HTTPAuthConfig != nil {
			why = out.readHTTP(field+".http", *spec.HTTPAuthConfig)
		}
	default:
		why = problemf(verdict.UnsupportedValue, field+".protocol", "%q: must be HTTP or GRPC", spec.ExternalAuthProtocol)
	}
	if spec.ForwardBody != nil {
		if spec.ForwardBody.MaxSize < 0 {
			why = first(why, problemf(verdict.UnsupportedValue, field+".forwardBody.maxSize", "%d: must be 0 or more", spec.ForwardBody.MaxSize))
		}
		out.Body = uint32(max(0, spec.ForwardBody.MaxSize))
	}
	return out, why
}

func (w *authWish) readHTTP(field string, spec gateway_v1.HTTPAuthConfig) *problem {
	var why, whyPath, whyTake *problem
	w.Ask, why = readHeaderNames(field+".allowedHeaders", spec.AllowedRequestHeaders)
	w.Take, whyTake = readHeaderNames(field+".allowedResponseHeaders", spec.AllowedResponseHeaders)
	w.Path, whyPath = readPrefix(field+".path", spec.Path)
	return first(whyPath, why, whyTake)
}

// readPrefix reads what goes before the path of a request, which begins with a slash.
func readPrefix(field, text string) (string, *problem) {
	path := strings.TrimRight(text, "/")
	if path == "" {
		return "", nil
	}
	for element := range strings.SplitSeq(path, "/") {
		if element == "." || element == ".." {
			return "", problemf(verdict.UnsupportedValue, field, "%q: must have no element %s", text, element)
		}
	}
	return "/" + strings.TrimLeft(path, "/"), nil
}

func readHeaderNames(field string, names []string) ([]string, *problem) {
	var out []string
	for i, name := range names {
		if !httpguts.ValidHeaderFieldName(name) {
			return nil, problemf(verdict.UnsupportedValue, indexed(field, i), "%q: must be a name of letters, digits and !#$%%&'*+-.^_`|~", name)
		}
		out = append(out, strings.ToLower(name))
	}
	return inOrderOnce(out), nil
}

// auths resolves the services that requests of a rule are subject to. One that cannot
// be asked lets nothing pass.
func (b *build) auths(c *derive.Ctx, from referrer, wishes []authWish, r *rule) ([]model.Auth, *problem) {
	var out []model.Auth
	var clusters []upstream
	var uses []string
	for _, wish := range wishes {
		found := b.authBackend(c, from, wish)
		if found.Problem != nil {
			r.Uses = append(r.Uses, found.Uses...)
			return nil, found.Problem
		}
		clusters, uses = append(clusters, found.Cluster), append(uses, found.Uses...)
		wish.Cluster = found.Cluster.ID
		out = append(out, wish.Auth)
	}
	r.Clusters, r.Uses = append(r.Clusters, clusters...), append(r.Uses, uses...)
	return out, nil
}

// authBackend finds the service that a filter asks, in the protocol of the filter.
func (b *build) authBackend(c *derive.Ctx, from referrer, wish authWish) backend {
	from.GRPC = wish.GRPC
	return b.resolve(c, wish.Field, from, wish.To)
}

// ruleAuths resolves the services of a rule. One that cannot be asked closes the rule.
func (b *build) ruleAuths(c *derive.Ctx, from referrer, filters *filterSet, r *rule) []model.Auth {
	services, why := b.auths(c, from, filters.Auth, r)
	if why != nil {
		same := *why
		same.Message += "; without an answer of it all " + unanswered(from.Kind)
		filters.Unresolved, r.Dark = first(filters.Unresolved, &same), true
	}
	return services
}

// shareAuths resolves the services of one backend. One that cannot be asked makes the
// backend one that cannot be used.
func (b *build) shareAuths(c *derive.Ctx, from referrer, filters *filterSet, r *rule) *problem {
	services, why := b.auths(c, from, filters.Auth, r)
	if why != nil {
		same := *why
		return &same
	}
	filters.Headers.Auth = services
	return nil
}

// tooManyAuths refuses more services than a request can be subject to.
func (r *rule) tooManyAuths(field string, f filterSet) *problem {
	if n := r.Auths + len(f.Auth); n > model.MaxAuth {
		return problemf(verdict.UnsupportedValue, field, "%d filters of type ExternalAuth: a request can have %d", n, model.MaxAuth)
	}
	return nil
}
