package compile

import (
	"regexp"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/features"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// grpcFeatures are the features of Gateway API that this file compiles.
var grpcFeatures = featureNames{
	features.SupportGRPCRoute,
	features.SupportGRPCRouteNamedRouteRule,
	features.SupportGRPCRouteRequestHeaderModifier,
}

var (
	grpcService = regexp.MustCompile(`^\.?[A-Za-z_][A-Za-z_0-9]*(\.[A-Za-z_][A-Za-z_0-9]*)*$`)
	grpcMethod  = regexp.MustCompile(`^[A-Za-z_][A-Za-z_0-9]*$`)
)

// anyElement matches one element of a path.
const anyElement = "[^/]+"

// readGRPC reads the rules of a GRPCRoute. A gRPC call is a POST to the path
// "/service/method", so that its matches are matches of paths; they take gRPC
// requests only, and go before those of HTTPRoutes on the same host.
func (b *build) readGRPC(c *derive.Ctx, key string, route *gateway_v1.GRPCRoute) (rules, bool) {
	out := rules{Created: route.CreationTimestamp.Unix()}
	for i, spec := range route.Spec.Rules {
		field := indexed("spec.rules", i)
		wish := ruleWish{
			Name: spec.Name, Filters: httpFilters(spec.Filters), Backends: grpcBackends(spec.BackendRefs),
			Session: readSession(field+".sessionPersistence", grpcIdent+key, spec.SessionPersistence), //nolint:staticcheck // deprecated, and served all the same
		}
		for k, match := range spec.Matches {
			m, r, why := readCall(indexed(field+".matches", k), match)
			wish.Matches = append(wish.Matches, ranked{m, r, why})
		}
		if len(spec.Matches) == 0 {
			m, r, why := readCall(field+".matches", gateway_v1.GRPCRouteMatch{})
			wish.Matches = []ranked{{m, r, why}}
		}
		out.Rules = append(out.Rules, b.readRule(c, referrer{Kind: kindGRPCRoute, Namespace: route.Namespace}, field, key, wish))
	}
	return out, true
}

// readCall reads one match. The characters of service and method decide what is
// tried first, then the number of headers.
func readCall(field string, spec gateway_v1.GRPCRouteMatch) (model.Match, rank, *problem) {
	path, r, why := readMethod(field+".method", spec.Method)
	headers, inHeaders := readHeaders(field+".headers", grpcHeaders(spec.Headers))
	r.Headers = len(headers)
	return model.Match{GRPC: true, Path: path, Headers: headers}, r, first(why, inHeaders)
}

func readMethod(field string, spec *gateway_v1.GRPCMethodMatch) (model.PathMatch, rank, *problem) {
	everything := model.PathMatch{Kind: model.PathPrefix, Value: "/"}
	if spec == nil {
		return everything, rank{GRPC: true}, nil
	}
	service, method := orElse(spec.Service, ""), orElse(spec.Method, "")
	r := rank{GRPC: true, Length: len(service), Call: len(method)}
	switch kind := orElse(spec.Type, gateway_v1.GRPCMethodMatchExact); {
	case service == "" && method == "":
		return everything, r, nil
	case kind == gateway_v1.GRPCMethodMatchRegularExpression:
		both := "/" + element(service) + "/" + element(method)
		return model.PathMatch{Kind: model.PathRegex, Value: both},
			r, first(optional(field+".service", service), optional(field+".method", method), expression(field+".service", both))
	case kind != gateway_v1.GRPCMethodMatchExact:
		return everything, r, problemf(verdict.UnsupportedValue, field+".type", "%q: must be Exact or RegularExpression", kind)
	case service != "" && !grpcService.MatchString(service):
		return everything, r, problemf(verdict.UnsupportedValue, field+".service", "%q: must be the name of a gRPC service such as shop.v1.Cart", service)
	case method != "" && !grpcMethod.MatchString(method):
		return everything, r, problemf(verdict.UnsupportedValue, field+".method", "%q: must be the name of a gRPC method such as Add", method)
	case method == "":
		return model.PathMatch{Kind: model.PathPrefix, Value: "/" + service}, r, nil
	case service == "":
		return model.PathMatch{Kind: model.PathRegex, Value: "/" + anyElement + "/" + regexp.QuoteMeta(method)}, r, nil
	default:
		return model.PathMatch{Kind: model.PathExact, Value: "/" + service + "/" + method}, r, nil
	}
}

// element is an expression for one element of the path of a call.
func element(expression string) string {
	if expression == "" {
		return anyElement
	}
	return "(?:" + expression + ")"
}

func optional(field, value string) *problem {
	if value == "" {
		return nil
	}
	return faulty(field, value, model.ExpressionFault(element(value)))
}

func grpcHeaders(specs []gateway_v1.GRPCHeaderMatch) []gateway_v1.HTTPHeaderMatch {
	out := make([]gateway_v1.HTTPHeaderMatch, len(specs))
	for i, spec := range specs {
		kind := gateway_v1.HeaderMatchType(orElse(spec.Type, gateway_v1.GRPCHeaderMatchExact))
		out[i] = gateway_v1.HTTPHeaderMatch{Type: &kind, Name: gateway_v1.HTTPHeaderName(spec.Name), Value: spec.Value}
	}
	return out
}

// httpFilters are the filters of a GRPCRoute, all of which HTTPRoutes have too.
func httpFilters(specs []gateway_v1.GRPCRouteFilter) []gateway_v1.HTTPRouteFilter {
	out := make([]gateway_v1.HTTPRouteFilter, len(specs))
	for i, spec := range specs {
		out[i] = gateway_v1.HTTPRouteFilter{
			Type:                  gateway_v1.HTTPRouteFilterType(spec.Type),
			RequestHeaderModifier: spec.RequestHeaderModifier, ResponseHeaderModifier: spec.ResponseHeaderModifier,
			RequestMirror: spec.RequestMirror, ExtensionRef: spec.ExtensionRef,
		}
	}
	return out
}

func grpcBackends(refs []gateway_v1.GRPCBackendRef) []weighted {
	out := make([]weighted, len(refs))
	for i, ref := range refs {
		out[i] = weighted{ref.BackendObjectReference, weightOf(ref.Weight), httpFilters(ref.Filters)}
	}
	return out
}

func (b *build) attachGRPC(c *derive.Ctx, _ string, route *gateway_v1.GRPCRoute) (attachment, bool) {
	g := guest{Kind: kindGRPCRoute, Namespace: route.Namespace, Wants: route.Spec.CommonRouteSpec}
	g.Hostnames, g.Invalid = hostnames(route.Spec.Hostnames)
	return b.attach(c, g), true
}

// grpcFinding decides over a GRPCRoute.
func (b *build) grpcFinding(c *derive.Ctx, key string, route *gateway_v1.GRPCRoute) (Finding, bool) {
	return b.webFinding(c, grpcIdent+key, route.Spec.CommonRouteSpec, route.Generation)
}
