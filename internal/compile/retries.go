package compile

import (
	"math"
	"slices"
	"time"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/features"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// limitFeatures are the features of Gateway API that this file compiles.
var limitFeatures = featureNames{
	features.SupportHTTPRouteBackendTimeout,
	features.SupportHTTPRouteRequestTimeout,
	features.SupportHTTPRouteRetryCodes,
	features.SupportHTTPRouteRetryConnectionError,
}

// limits are the bounds of a rule on time and tries.
type limits struct {
	Request, Try time.Duration
	Retry        *model.Retry
}

// readLimits reads timeouts and retries, which bound each other: the request's
// timeout covers every try, that of the backend's each of them.
func readLimits(field string, spec gateway_v1.HTTPRouteRule) (limits, *problem) {
	var out limits
	var why, whyTry, whyRetry *problem
	if t := spec.Timeouts; t != nil {
		out.Request, why = readDuration(field+".timeouts.request", t.Request)
		out.Try, whyTry = readDuration(field+".timeouts.backendRequest", t.BackendRequest)
		if out.Request != 0 && out.Try > out.Request {
			whyTry = first(whyTry, problemf(verdict.UnsupportedValue, field+".timeouts.backendRequest", "%q: must not be longer than request, %q", *t.BackendRequest, *t.Request))
		}
	}
	if spec.Retry != nil {
		out.Retry, whyRetry = readRetry(field+".retry", *spec.Retry)
	}
	return out, first(why, whyTry, whyRetry)
}

func (l limits) bound(f *model.Forward) {
	f.Timeout, f.TryTimeout, f.Retry = l.Request, l.Try, l.Retry
}

// readRetry reads when a request is tried again. What the specification wants of
// every retry, that failed connections count, needs no field.
func readRetry(field string, spec gateway_v1.HTTPRouteRetry) (*model.Retry, *problem) {
	attempts := orElse(spec.Attempts, 1)
	if attempts < 0 || attempts > math.MaxInt32 {
		return nil, problemf(verdict.UnsupportedValue, field+".attempts", "%d: must be between 0 and %d", attempts, math.MaxInt32)
	}
	out := &model.Retry{Attempts: uint32(attempts)}
	for i, code := range spec.Codes {
		if code < 400 || code > 599 {
			return nil, problemf(verdict.UnsupportedValue, indexed(field+".codes", i), "%d: must be a status between 400 and 599", code)
		}
		out.Codes = append(out.Codes, uint32(code))
	}
	slices.Sort(out.Codes)
	out.Codes = slices.Compact(out.Codes)
	var why *problem
	out.Backoff, why = readDuration(field+".backoff", spec.Backoff)
	return out, why
}

func readDuration(field string, spec *gateway_v1.Duration) (time.Duration, *problem) {
	if spec == nil {
		return 0, nil
	}
	d, err := time.ParseDuration(string(*spec))
	if err != nil || d < 0 {
		return 0, problemf(verdict.UnsupportedValue, field, "%q: must be a duration such as 1m30s", *spec)
	}
	if d > model.MaxDuration {
		return 0, problemf(verdict.UnsupportedValue, field, "%q: longer than a year: make it shorter, or leave it out for no limit", *spec)
	}
	return d, nil
}
