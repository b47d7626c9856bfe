package envoy

import (
	"slices"
	"strconv"
	"strings"
	"time"

	xds_core_v3 "github.com/cncf/xds/go/xds/core/v3"
	xds_matcher_v3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	envoy_mutation_v3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_route_v3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	envoy_composite_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"
	envoy_auth_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"
	envoy_matcher_v3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	envoy_type_v3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// authFilters are the filters that ask the services of a route, one each, in order.
// They are part of every listener and do nothing there: a route brings whole filters to
// put in their place, because Envoy's own settings for routes lack which headers are
// sent. They are put there when the request passes, and not when its first lookup was
// made. One cannot stand for several: Envoy goes on after the first that has to wait.
var authFilters = [...]string{"gatehouse.auth.1", "gatehouse.auth.2", "gatehouse.auth.3", "gatehouse.auth.4"}

// authTimeout is how long a service may think.
const authTimeout = 10 * time.Second

// unanswered is the status of requests that a service says nothing about.
const unanswered = envoy_type_v3.StatusCode_InternalServerError

// kept are headers that no service may change: they say for whom a message is, where
// it ends, who sent it, and which routes it is looked up in.
const kept = "host|:.*|content-length|transfer-encoding|connection|keep-alive|upgrade|te|trailer|proxy-.*|" + scopeHeader

// authorize lets a route ask services, and names those.
func authorize(route *envoy_route_v3.Route, services []model.Auth) ([]xdsserve.Name, error) {
	if len(services) > len(authFilters) {
		return nil, faultf("auth", strconv.Itoa(len(services)), "a request can be subject to %d services: leave some out", len(authFilters))
	}
	var uses []xdsserve.Name
	for i, s := range services {
		ask, err := askInstead(s, false)
		if err != nil {
			return nil, within("auth["+strconv.Itoa(i)+"]", err)
		}
		if err := perRoute(route, authFilters[i], ask); err != nil {
			return nil, err
		}
		uses = append(uses, xdsserve.Name{Type: xdsserve.Cluster, Name: string(s.Cluster)})
	}
	return uses, nil
}

// askInstead puts the filter that asks a service in the place of one that does
// nothing, before routes are matched or after.
func askInstead(s model.Auth, before bool) (*envoy_composite_v3.CompositePerRoute, error) {
	ask, err := askService(s, before)
	if err != nil {
		return nil, err
	}
	config, err := pack(ask)
	if err != nil {
		return nil, err
	}
	action, err := pack(&envoy_composite_v3.ExecuteFilterAction{
		TypedConfig: &envoy_core_v3.TypedExtensionConfig{Name: "envoy.filters.http.ext_authz", TypedConfig: config},
	})
	always := &xds_matcher_v3.Matcher_OnMatch{OnMatch: &xds_matcher_v3.Matcher_OnMatch_Action{
		Action: &xds_core_v3.TypedExtensionConfig{Name: "ask", TypedConfig: action},
	}}
	return &envoy_composite_v3.CompositePerRoute{Matcher: &xds_matcher_v3.Matcher{OnNoMatch: always}}, err
}

// askService is the filter that asks one service. Everything but its leave refuses.
func askService(s model.Auth, before bool) (*envoy_auth_v3.ExtAuthz, error) {
	if err := checkName("cluster", string(s.Cluster)); err != nil {
		return nil, err
	}
	for i, name := range slices.Concat(s.Ask, s.Take) {
		if err := checkHeaderName("headers["+strconv.Itoa(i)+"]", name); err != nil {
			return nil, err
		}
	}
	out := &envoy_auth_v3.ExtAuthz{
		TransportApiVersion: envoy_core_v3.ApiVersion_V3,
		StatusOnError:       &envoy_type_v3.HttpStatus{Code: unanswered},
		ValidateMutations:   true,
		ClearRouteCache:     before,
		AllowedHeaders:      headerList(s.Ask),
		DecoderHeaderMutationRules: &envoy_mutation_v3.HeaderMutationRules{
			DisallowExpression: regex("(?i)(" + kept + ")"),
		},
	}
	if s.Body > 0 {
		out.WithRequestBody = &envoy_auth_v3.BufferSettings{MaxRequestBytes: s.Body}
	}
	if s.GRPC {
		out.Services = overGRPC(s)
		return out, nil
	}
	if s.Path != "" {
		if err := checkPath("path", s.Path); err != nil {
			return nil, err
		}
	}
	out.Services = overHTTP(s)
	return out, nil
}

func overGRPC(s model.Auth) *envoy_auth_v3.ExtAuthz_GrpcService {
	to := &envoy_core_v3.GrpcService_EnvoyGrpc{ClusterName: string(s.Cluster), Authority: calledAs(s.Cluster)}
	return &envoy_auth_v3.ExtAuthz_GrpcService{GrpcService: &envoy_core_v3.GrpcService{
		TargetSpecifier: &envoy_core_v3.GrpcService_EnvoyGrpc_{EnvoyGrpc: to}, Timeout: durationpb.New(authTimeout),
	}}
}

func overHTTP(s model.Auth) *envoy_auth_v3.ExtAuthz_HttpService {
	take := headerList(s.Take)
	if take == nil {
		take = &envoy_matcher_v3.ListStringMatcher{Patterns: []*envoy_matcher_v3.StringMatcher{{
			MatchPattern: &envoy_matcher_v3.StringMatcher_SafeRegex{SafeRegex: regex(".*")},
		}}}
	}
	return &envoy_auth_v3.ExtAuthz_HttpService{HttpService: &envoy_auth_v3.HttpService{
		ServerUri: &envoy_core_v3.HttpUri{
			Uri:     "http://" + calledAs(s.Cluster),
			Timeout: durationpb.New(authTimeout), HttpUpstreamType: &envoy_core_v3.HttpUri_Cluster{Cluster: string(s.Cluster)},
		},
		PathPrefix:            s.Path,
		AuthorizationResponse: &envoy_auth_v3.AuthorizationResponse{AllowedUpstreamHeaders: take},
	}}
}

// headerList matches headers by name; nil is none.
func headerList(names []string) *envoy_matcher_v3.ListStringMatcher {
	if len(names) == 0 {
		return nil
	}
	out := &envoy_matcher_v3.ListStringMatcher{}
	for _, name := range names {
		matcher := exactly(name)
		matcher.IgnoreCase = true
		out.Patterns = append(out.Patterns, matcher)
	}
	return out
}

// calledAs is how a service is called that has no host of its own: "name.namespace".
func calledAs(id model.ClusterID) string {
	at := strings.TrimPrefix(strings.TrimPrefix(string(id), "grpc/"), "xbackend/")
	name, _, _ := strings.Cut(at, ":")
	namespace, name, ok := strings.Cut(name, "/")
	if !ok {
		return "auth"
	}
	return name + "." + namespace
}
