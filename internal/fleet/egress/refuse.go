package egress

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	client "github.com/gatehouse-proxy/gatehouse/clients/go"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/egress/hop"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/egress/session"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/destination"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/socks5"
)

// Fields that tell a client which lease and which proxy it goes by, so that it can report.
const (
	LeaseHeader = "Gatehouse-Lease"
	ProxyHeader = "Gatehouse-Proxy"
)

// told is what a client is told of a lease.
func told(h *session.Held) forward.Told {
	id := h.Proxy().ID()
	return forward.Told{NextHop: id, Header: http.Header{LeaseHeader: {h.ID()}, ProxyHeader: {id}}}
}

// by adds to an error of a proxy what the client is told of its lease.
func by(h *session.Held, err error) error {
	failed, ok := errors.AsType[*hop.Error](err)
	if !ok {
		return err
	}
	t := told(h)
	if len(failed.Status) > 0 {
		t.Header["Proxy-Status"] = failed.Status
	}
	return &forward.RouteError{RefusalError: failed.RefusalError, Told: t}
}

// unleased is what a client is told if there is no lease for it.
func unleased(err error) error {
	e, ok := errors.AsType[*client.Error](err)
	if !ok || errors.Is(err, context.Canceled) {
		return err
	}
	r := forward.RefusalError{Status: http.StatusServiceUnavailable, Kind: "proxy_internal_error", Reply: socks5.GeneralFailure}
	retry := e.RetryAfter
	switch {
	case errors.Is(err, client.ErrNoMatch):
		r.Kind, r.Text = "destination_unavailable", noMatch(e)
	case errors.Is(err, client.ErrUnreachable):
		r.Text = "the lease API does not answer: it is --lease-api of the super-proxy that names it"
	case errors.Is(err, client.ErrUnauthorized):
		r.Status, r.Kind, r.Text = http.StatusBadGateway, "proxy_configuration_error", "the lease API refuses the super-proxy: its DISCOVERY_TOKEN is not that of the fleet"
	case e.Status >= 400 && e.Status < 500:
		r.Status, r.Kind, r.Text = http.StatusBadRequest, "http_request_error", "the lease API refuses what the user name asks for: "+e.Code
	case e.Status == http.StatusServiceUnavailable:
		r.Text = "the lease API grants nothing now: " + e.Code
	default:
		r.Status, r.Text = http.StatusBadGateway, "the lease API fails: "+e.Code
	}
	way := &forward.RouteError{RefusalError: r}
	if r.Status == http.StatusServiceUnavailable {
		way.Header = http.Header{"Retry-After": {seconds(retry)}}
	}
	return way
}

func noMatch(e *client.Error) string {
	if e.Considered == 0 {
		return "no proxy can be leased: none has the attributes that the user name asks for"
	}
	return fmt.Sprintf("no proxy can be leased: considered=%d atCapacity=%d inCooldown=%d unhealthy=%d", e.Considered, e.AtCapacity, e.InCooldown, e.Unhealthy)
}

// seconds are whole ones, at least 1.
func seconds(d time.Duration) string {
	return strconv.Itoa(max(1, int((d+time.Second-1)/time.Second)))
}

// outcome of a request whose error this is.
func outcome(err error) string {
	switch failed, byProxy := errors.AsType[*hop.Error](err); {
	case err == nil:
		return Served
	case errors.Is(err, destination.ErrAddress), errors.Is(err, destination.ErrPort):
		return Refused
	case errors.Is(err, client.ErrNoMatch):
		return NoMatch
	case byProxy && failed.Proxy:
		return ProxyFailed
	case byProxy:
		return TargetFailed
	case errors.Is(err, context.Canceled):
		return Gone
	}
	if _, ok := errors.AsType[*client.Error](err); ok {
		return Unavailable
	}
	return Gone
}
