package egress_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	egress "github.com/gatehouse-proxy/gatehouse/clients/go"
)

// kept runs KeepAlive, and returns when it ended and why.
func kept(ctx context.Context, l *egress.Lease) (ended func() (time.Duration, error)) {
	began, done := time.Now(), make(chan error, 1)
	var at time.Duration
	go func() {
		err := l.KeepAlive(ctx)
		at = time.Since(began)
		done <- err
	}()
	return func() (time.Duration, error) {
		err := <-done
		return at, err
	}
}

func TestKeepAliveRenewsAtHalfLifeUntilReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := new(fleet)
		l := f.lease(t, renewed)
		ended := kept(t.Context(), l)
		began := time.Now()
		time.Sleep(170 * time.Second)
		if err := l.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if at, err := ended(); err != nil || at != 170*time.Second {
			t.Errorf("it ended after %v with %v", at, err)
		}
		var at []time.Duration
		for _, one := range f.asked {
			at = append(at, one.at.Sub(began)/time.Second)
		}
		if want := []time.Duration{50, 100, 150, 170}; !slices.Equal(at, want) || f.calls() != "PUT /l1, PUT /l1, PUT /l1, DELETE /l1" {
			t.Errorf("%s at %d s, want at %d", f.calls(), at, want)
		}
	})
}

func TestKeepAliveTellsWhatEndedTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			answers []answer
			err     error
			from    time.Duration
			to      time.Duration
		}{
			{[]answer{renewed, refused(409, "proxy_gone", "")}, egress.ErrProxyGone, 100 * time.Second, 100 * time.Second},
			{[]answer{refused(404, "unknown_lease", "")}, egress.ErrUnknownLease, 50 * time.Second, 50 * time.Second},
			{[]answer{lost}, io.ErrUnexpectedEOF, 80 * time.Second, 100 * time.Second},
			{[]answer{refused(503, "not_leading", "600")}, egress.ErrNotLeading, 60 * time.Second, 100 * time.Second},
			// An outage that is shorter than what is left of the lease.
			{[]answer{lost, lost, lost, lost, lost, lost, renewed, refused(409, "proxy_gone", "")}, egress.ErrProxyGone, 100 * time.Second, 150 * time.Second},
		} {
			l := new(fleet).lease(t, c.answers...)
			at, err := kept(t.Context(), l)()
			if !errors.Is(err, c.err) || at < c.from || at > c.to {
				t.Errorf("it ended with %v after %v, want %v after %v to %v", err, at, c.err, c.from, c.to)
			}
		}
	})
}

func TestKeepAliveEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := new(fleet).lease(t, renewed)
		ctx, cancel := context.WithTimeout(t.Context(), 75*time.Second)
		defer cancel()
		if at, err := kept(ctx, l)(); err != nil || at != 75*time.Second {
			t.Errorf("it ended after %v with %v", at, err)
		}
	})
}

// TestRenewedCredentials: those of a lease's own end with it, so that a renewal brings others.
func TestRenewedCredentials(t *testing.T) {
	f := new(fleet)
	l := f.lease(t, answer{status: 200, body: `{"leaseID":"l1","expiresAt":"2000-01-01T00:05:00Z","coolingUntil":"2000-01-01T00:04:00.5Z",
"proxy":{"name":"a","namespace":"ns","url":"http://192.0.2.1:3128","username":"u","password":"sec/ond"}}`})
	t.Cleanup(l.Transport().CloseIdleConnections)
	if err := l.Renew(t.Context(), 200*time.Second); err != nil {
		t.Fatal(err)
	}
	through, err := l.Transport().Proxy(new(http.Request))
	if want := (&url.URL{Scheme: "http", Host: "192.0.2.1:3128", User: url.UserPassword("u", "sec/ond")}); err != nil || through.String() != want.String() {
		t.Errorf("it goes through %v, %v, want %v", through, err, want)
	}
	if l.TTL() != 200*time.Second || l.ExpiresAt() != time.Date(2000, 1, 1, 0, 5, 0, 0, time.UTC) || f.asked[0].body["ttlSeconds"] != 200.0 {
		t.Errorf("it lives for %v until %v, and %v was asked", l.TTL(), l.ExpiresAt(), f.asked[0].body)
	}
	if want := time.Date(2000, 1, 1, 0, 4, 0, 5e8, time.UTC); l.CoolingUntil() != want {
		t.Errorf("its proxy rests until %v, want %v", l.CoolingUntil(), want)
	}
}
