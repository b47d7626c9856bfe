package envoy

import (
	envoy_route_v3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	envoy_previous_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/retry/host/previous_hosts/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// How often a request is tried again, and how often Envoy may draw until it has
// an endpoint that was not tried yet.
const (
	safeRetryCount = 2
	redraws        = 10
)

// safeRetries repeats, at another endpoint where there is one, what no backend
// has begun to process: a connection that could not be made, or a stream that
// the backend says it refused. It hides the moment between an endpoint's end
// and the news of it.
func safeRetries() (*envoy_route_v3.RetryPolicy, error) {
	other, err := pack(&envoy_previous_v3.PreviousHostsPredicate{})
	if err != nil {
		return nil, err
	}
	return &envoy_route_v3.RetryPolicy{
		RetryOn:    "connect-failure,refused-stream",
		NumRetries: wrapperspb.UInt32(safeRetryCount),
		RetryHostPredicate: []*envoy_route_v3.RetryPolicy_RetryHostPredicate{{
			Name:       "envoy.retry_host_predicates.previous_hosts",
			ConfigType: &envoy_route_v3.RetryPolicy_RetryHostPredicate_TypedConfig{TypedConfig: other},
		}},
		HostSelectionRetryMaxAttempts: redraws,
	}, nil
}
