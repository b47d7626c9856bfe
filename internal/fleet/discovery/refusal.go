package discovery

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
)

// refusal is why a request gets nothing.
type refusal struct {
	code    Code
	message string // one line, with the remedy
	field   string // of the request; empty for all of it
	retry   time.Duration
	counts  *lease.NoMatchError
}

func (r *refusal) Error() string { return r.message }

func refuse(code Code, format string, args ...any) *refusal {
	return &refusal{code: code, message: fmt.Sprintf(format, args...)}
}

// of names the field that is refused.
func (r *refusal) of(field string) *refusal {
	r.field = field
	return r
}

func (r *refusal) after(d time.Duration) *refusal {
	r.retry = d
	return r
}

// Times after which to ask again, where nothing says when it helps.
const (
	soon  = time.Second      // what is over by itself
	later = 30 * time.Second // what somebody has to change, or a probe
)

// errGone is a client that has hung up: there is nobody to answer.
var errGone = errors.New("the client has gone")

// refusalOf says in the words of the API what an error of a store means.
func refusalOf(err error) *refusal {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
	}
	if none, ok := errors.AsType[*lease.NoMatchError](err); ok {
		return noMatch(none)
	}
	switch {
	case errors.Is(err, lease.ErrUnknown):
		return refuse(UnknownLease, "no lease has this ID, or it has ended: acquire another one with POST /v1/leases")
	case errors.Is(err, lease.ErrProxyGone):
		return refuse(ProxyGone, "the proxy of this lease was deleted or replaced, which ended the lease: acquire another one with POST /v1/leases")
	case errors.Is(err, lease.ErrReused):
		return refuse(KeyReused, "Idempotency-Key was used for another request: send a new key with a new request, and the same body with the same key").of(keyHeader)
	case errors.Is(err, lease.ErrTooMany):
		return refuse(TooManyWaiting, "as many requests wait for a proxy as may: ask again later, or without ?wait").after(soon)
	case errors.Is(err, ErrStarting):
		return refuse(IsStarting, "%v: ask again", err).after(soon)
	case errors.Is(err, ErrNotLeading):
		return refuse(IsNotLeading, "%v: ask again, or ask the Service of the lease API, which names the leader alone", err).after(soon)
	case errors.Is(err, lease.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		// The cause may name an address with a password in it; the store logs it.
		return refuse(StoreUnavailable, "the store of leases does not answer, so nothing is granted: ask again").after(soon)
	}
	return refuse(Internal, "this is a bug in Gatehouse: please report it, with the log of this moment")
}

// noMatch says what stands in the way of a lease, and what helps.
func noMatch(e *lease.NoMatchError) *refusal {
	r := &refusal{code: NoMatch, counts: e, retry: e.RetryAfter}
	if r.retry <= 0 {
		r.retry = later
	}
	if e.Considered == 0 {
		r.message = "no proxy has the attributes and namespace of the selector, or all that have are excluded: GET /v1/proxies lists what there is"
		return r
	}
	r.message = fmt.Sprintf("%d proxies match, of which %d are unhealthy, %d at capacity, %d cooling down: "+
		"ask again after the seconds of Retry-After, wait with ?wait=10s, or release leases early",
		e.Considered, e.Unhealthy, e.AtCapacity, e.InCooldown)
	return r
}

// seconds writes a Retry-After: whole ones, at least 1.
func seconds(d time.Duration) string {
	return strconv.FormatInt(max(1, int64((d+time.Second-1)/time.Second)), 10)
}

// shown is how much of a wrong value is shown.
const shown = 64

// show quotes what a client sent, in one line and not without end.
func show(text string) string {
	if len(text) > shown {
		cut := shown
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		return strconv.Quote(text[:cut]) + "…"
	}
	return strconv.Quote(text)
}

// oneLine makes a line of what a library says.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return ' '
		}
		return r
	}, text)
}
