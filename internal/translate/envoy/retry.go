package envoy

import (
	"time"

	envoy_route_v3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	envoy_previous_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/retry/host/previous_hosts/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// How often a request is tried again, and how often Envoy may draw until it has
// an endpoint that was not tried yet.
const (
	safeRetryCount = 2
	redraws        = 10
)

// The causes of a retry: what no backend has begun to process, and what a
// backend or the time limit of a try has ended early.
const (
	retryUnprocessed = "connect-failure,refused-stream"
	retryBroken      = retryUnprocessed + ",reset"
	retryCodes       = ",retriable-status-codes"
)

// maxBackoffFactor is how much longer than its base a pause between tries can get.
const maxBackoffFactor = 10

// safeRetries repeats, at another endpoint where there is one, what no backend
// has begun to process: a connection that could not be made, or a stream that
// the backend says it refused. It hides the moment between an endpoint's end
// and the news of it.
func safeRetries() (*envoy_route_v3.RetryPolicy, error) {
	return retries(retryUnprocessed, safeRetryCount)
}

func retries(on string, attempts uint32) (*envoy_route_v3.RetryPolicy, error) {
	other, err := pack(&envoy_previous_v3.PreviousHostsPredicate{})
	if err != nil {
		return nil, err
	}
	return &envoy_route_v3.RetryPolicy{
		RetryOn:    on,
		NumRetries: wrapperspb.UInt32(attempts),
		RetryHostPredicate: []*envoy_route_v3.RetryPolicy_RetryHostPredicate{{
			Name:       "envoy.retry_host_predicates.previous_hosts",
			ConfigType: &envoy_route_v3.RetryPolicy_RetryHostPredicate_TypedConfig{TypedConfig: other},
		}},
		HostSelectionRetryMaxAttempts: redraws,
	}, nil
}

// limit bounds the time of a request and its tries. A route's own retries take
// the place of the safe ones of its host, which count as one of them. A try that
// takes too long is tried again only where the route asks for retries.
func limit(action *envoy_route_v3.RouteAction, f *model.Forward) error {
	if err := checkTimeout("forward.timeout", f.Timeout); err != nil {
		return err
	}
	if err := checkTimeout("forward.tryTimeout", f.TryTimeout); err != nil {
		return err
	}
	action.Timeout = durationpb.New(f.Timeout)
	if f.Retry == nil && f.TryTimeout == 0 {
		return nil
	}
	policy, err := ownRetries(f.Retry)
	if err != nil {
		return err
	}
	if f.TryTimeout > 0 {
		policy.PerTryTimeout = durationpb.New(f.TryTimeout)
	}
	action.RetryPolicy = policy
	return nil
}

func ownRetries(r *model.Retry) (*envoy_route_v3.RetryPolicy, error) {
	switch {
	case r == nil:
		return safeRetries()
	case r.Attempts == 0:
		return &envoy_route_v3.RetryPolicy{NumRetries: wrapperspb.UInt32(0)}, nil
	}
	if err := checkTimeout("forward.retry.backoff", r.Backoff); err != nil {
		return nil, err
	}
	on := retryBroken
	if len(r.Codes) > 0 {
		on += retryCodes
	}
	policy, err := retries(on, r.Attempts)
	if err != nil {
		return nil, err
	}
	policy.RetriableStatusCodes = r.Codes
	if r.Backoff > 0 {
		base := max(r.Backoff, time.Millisecond)
		policy.RetryBackOff = &envoy_route_v3.RetryPolicy_RetryBackOff{
			BaseInterval: durationpb.New(base), MaxInterval: durationpb.New(base * maxBackoffFactor),
		}
	}
	return policy, nil
}

func checkTimeout(field string, d time.Duration) error {
	if d < 0 || d > model.MaxDuration {
		return faultf(field, d.String(), "a duration is between 0 and %s", model.MaxDuration)
	}
	return nil
}
