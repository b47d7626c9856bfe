package discovery

import (
	"net/http"
	"slices"
)

// Code says why a request was refused, for programs.
type Code string

// Codes. What a status says of them is in [Code.Status].
const (
	InvalidBody     Code = "invalid_body"     // no JSON, or not of the form that is asked for
	InvalidSelector Code = "invalid_selector" // not attributes or a namespace that a proxy can have
	InvalidTTL      Code = "invalid_ttl"      // not 1 to 3600 seconds
	InvalidTarget   Code = "invalid_target"   // no name of a host
	InvalidSession  Code = "invalid_session"  // not 1 to 128 printable ASCII characters
	InvalidExclude  Code = "invalid_exclude"  // not names of proxies
	InvalidWait     Code = "invalid_wait"     // no duration up to MaxWait
	InvalidQuery    Code = "invalid_query"    // a parameter that is not known, or not right
	InvalidKey      Code = "invalid_key"      // not one Idempotency-Key of 1 to 255 visible characters
	InvalidResult   Code = "invalid_result"   // not ok, rate_limited or banned

	Unauthorized     Code = "unauthorized"
	Forbidden        Code = "forbidden" // asked by a web page, while there is no token
	NotFound         Code = "not_found" // the path
	UnknownLease     Code = "unknown_lease"
	MethodNotAllowed Code = "method_not_allowed"
	NoMatch          Code = "no_match"
	ProxyGone        Code = "proxy_gone"
	TooLarge         Code = "too_large"
	UnsupportedMedia Code = "unsupported_media_type"
	KeyReused        Code = "idempotency_key_reused"
	Internal         Code = "internal"

	StoreUnavailable Code = "store_unavailable"
	IsNotLeading     Code = "not_leading"
	TooManyWaiting   Code = "too_many_waiting"
	IsStarting       Code = "starting"
	IsStopping       Code = "stopping"
)

var statuses = map[Code]int{
	InvalidBody: http.StatusBadRequest, InvalidSelector: http.StatusBadRequest, InvalidTTL: http.StatusBadRequest,
	InvalidTarget: http.StatusBadRequest, InvalidSession: http.StatusBadRequest, InvalidExclude: http.StatusBadRequest,
	InvalidWait: http.StatusBadRequest, InvalidQuery: http.StatusBadRequest, InvalidKey: http.StatusBadRequest,
	InvalidResult: http.StatusBadRequest, Unauthorized: http.StatusUnauthorized, Forbidden: http.StatusForbidden,
	NotFound: http.StatusNotFound, UnknownLease: http.StatusNotFound, MethodNotAllowed: http.StatusMethodNotAllowed,
	NoMatch: http.StatusConflict, ProxyGone: http.StatusConflict, TooLarge: http.StatusRequestEntityTooLarge,
	UnsupportedMedia: http.StatusUnsupportedMediaType, KeyReused: http.StatusUnprocessableEntity,
	Internal: http.StatusInternalServerError, StoreUnavailable: http.StatusServiceUnavailable,
	IsNotLeading: http.StatusServiceUnavailable, TooManyWaiting: http.StatusServiceUnavailable,
	IsStarting: http.StatusServiceUnavailable, IsStopping: http.StatusServiceUnavailable,
}

// Status is that of HTTP.
func (c Code) Status() int { return statuses[c] }

// Codes returns all of them, in order.
func Codes() []Code {
	all := make([]Code, 0, len(statuses))
	for c := range statuses {
		all = append(all, c)
	}
	slices.Sort(all)
	return all
}
