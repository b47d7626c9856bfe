package egress

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Error is why a call failed: what the fleet answered, or that it did not.
type Error struct {
	// Code is the fleet's word for it, as in [ErrNoMatch]; "unreachable" where no answer
	// came, and "unexpected" for an answer that is none of the lease API.
	Code string
	// Message is one line for people, with what to do about it.
	Message string
	// Status is the HTTP status; 0 where no answer came.
	Status int
	// RetryAfter is when to ask again, as the fleet has it; 0 when it says nothing.
	RetryAfter time.Duration
	// Considered counts the proxies that the selector of a no_match matches. Each is counted
	// once, under the first of the others that holds.
	Considered, Unhealthy, AtCapacity, InCooldown int

	cause error
}

// Errors to compare with, by [errors.Is]; what is compared is the code.
var (
	ErrNoMatch              = &Error{Code: "no_match"}               // nobody fit to be leased now
	ErrUnknownLease         = &Error{Code: "unknown_lease"}          // it has ended, or never was
	ErrProxyGone            = &Error{Code: "proxy_gone"}             // its proxy was deleted or replaced
	ErrIdempotencyKeyReused = &Error{Code: "idempotency_key_reused"} // with another request
	ErrUnauthorized         = &Error{Code: "unauthorized"}           // token missing or wrong
	ErrInternal             = &Error{Code: "internal"}               // a bug of the fleet's
)

// Errors of requests that say what cannot be; the message names it.
var (
	ErrInvalidBody     = &Error{Code: "invalid_body"}
	ErrInvalidSelector = &Error{Code: "invalid_selector"}
	ErrInvalidTTL      = &Error{Code: "invalid_ttl"}
	ErrInvalidTarget   = &Error{Code: "invalid_target"}
	ErrInvalidSession  = &Error{Code: "invalid_session"}
	ErrInvalidExclude  = &Error{Code: "invalid_exclude"}
	ErrInvalidWait     = &Error{Code: "invalid_wait"}
	ErrInvalidQuery    = &Error{Code: "invalid_query"}
	ErrInvalidKey      = &Error{Code: "invalid_key"}
	ErrInvalidResult   = &Error{Code: "invalid_result"}
	ErrTooLarge        = &Error{Code: "too_large"}
)

// Errors of a fleet that cannot answer now: ask again after RetryAfter.
var (
	ErrStoreUnavailable = &Error{Code: "store_unavailable"}
	ErrNotLeading       = &Error{Code: "not_leading"}
	ErrTooManyWaiting   = &Error{Code: "too_many_waiting"}
	ErrStarting         = &Error{Code: "starting"}
	ErrStopping         = &Error{Code: "stopping"}
)

// Errors of what answers in place of a lease API, or of what stands in between.
var (
	ErrUnreachable          = &Error{Code: "unreachable"} // no answer came; errors.Is knows the cause too
	ErrUnexpected           = &Error{Code: "unexpected"}
	ErrForbidden            = &Error{Code: "forbidden"}
	ErrNotFound             = &Error{Code: "not_found"}
	ErrMethodNotAllowed     = &Error{Code: "method_not_allowed"}
	ErrUnsupportedMediaType = &Error{Code: "unsupported_media_type"}
)

func (e *Error) Error() string {
	text := "lease API: " + e.Code
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// Is reports whether target is an *Error of the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// Unwrap returns why no answer came, for example the error of a context; nil else.
func (e *Error) Unwrap() error { return e.cause }

// errorBody is what the fleet answers when it refuses.
type errorBody struct {
	Error      string `json:"error"`
	Message    string `json:"message"`
	Considered int    `json:"considered"`
	Unhealthy  int    `json:"unhealthy"`
	AtCapacity int    `json:"atCapacity"`
	InCooldown int    `json:"inCooldown"`
}

func refusal(r *http.Response, b errorBody) *Error {
	e := &Error{
		Code: b.Error, Message: b.Message, Status: r.StatusCode, RetryAfter: retryAfter(r.Header),
		Considered: b.Considered, Unhealthy: b.Unhealthy, AtCapacity: b.AtCapacity, InCooldown: b.InCooldown,
	}
	if e.Code == "" {
		e.Code = ErrUnexpected.Code
		e.Message = fmt.Sprintf("status %d without a code: does BaseURL name a lease API?", r.StatusCode)
	}
	return e
}

// retryAfter reads the header (RFC 9110, section 10.2.3) in its form of seconds.
func retryAfter(h http.Header) time.Duration {
	n, err := strconv.ParseUint(strings.TrimSpace(h.Get("Retry-After")), 10, 16)
	if err != nil {
		return 0
	}
	return time.Duration(n) * time.Second
}
