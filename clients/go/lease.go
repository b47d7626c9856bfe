package egress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// Result is what became of the use of a lease.
type Result string

// Results. The last two let the proxy rest for the target: minutes at first, longer when
// it happens again.
const (
	OK          Result = "ok"
	RateLimited Result = "rate_limited" // the target answered 429, or as much
	Banned      Result = "banned"       // the target refuses the proxy's address
)

// Lease is the right to use a proxy until ExpiresAt. Its methods may be called at once.
type Lease struct {
	// ID names it, and is as secret as the token.
	ID string
	// Target is what it is for, as the fleet writes it.
	Target string
	// Rebound is true when a session got another proxy than it had.
	Rebound bool

	client *Client

	mu      sync.Mutex
	proxy   Proxy
	url     *url.URL
	ttl     time.Duration
	expires time.Time // by the fleet's clock
	granted time.Time // when this life of it was asked for, by ours
	cooling time.Time // by the fleet's
	ended   chan struct{}

	transport func() *http.Transport
}

// granted is what is answered to a request for a lease, and to a renewal.
type granted struct {
	LeaseID    string    `json:"leaseID"`
	Proxy      *Proxy    `json:"proxy"`
	Target     string    `json:"target"`
	ExpiresAt  time.Time `json:"expiresAt"`
	Cooling    time.Time `json:"coolingUntil"`
	TTLSeconds int64     `json:"ttlSeconds"`
	Rebound    bool      `json:"rebound"`
}

func newLease(c *Client, g granted, sent time.Time) (*Lease, error) {
	l := &Lease{ID: g.LeaseID, Target: g.Target, Rebound: g.Rebound, client: c, ended: make(chan struct{})}
	if g.Proxy == nil || g.LeaseID == "" {
		return nil, &Error{Code: ErrUnexpected.Code, Message: "the answer has no proxy: does BaseURL name a lease API?"}
	}
	l.ttl = cmp.Or(time.Duration(g.TTLSeconds)*time.Second, DefaultTTL)
	l.transport = sync.OnceValue(l.newTransport)
	return l, l.take(g, sent)
}

// take keeps what a grant or a renewal says.
func (l *Lease) take(g granted, sent time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if g.Proxy != nil {
		u, err := g.Proxy.address()
		if err != nil {
			return err
		}
		l.proxy, l.url = *g.Proxy, u
	}
	l.expires, l.granted, l.cooling = g.ExpiresAt, sent, g.Cooling
	return nil
}

// address is its URL with the credentials.
func (p Proxy) address() (*url.URL, error) {
	u, err := url.Parse(p.URL)
	if err != nil || u.Host == "" {
		// The error of Parse has the URL, and so the password.
		return nil, &Error{Code: ErrUnexpected.Code, Message: fmt.Sprintf("the URL of proxy %s cannot be read", p.ID())}
	}
	if u.User == nil && p.Username != "" {
		u.User = url.UserPassword(p.Username, p.Password)
	}
	return u, nil
}

// Proxy is what is leased, with the credentials as they are since the last renewal.
func (l *Lease) Proxy() Proxy {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.proxy
}

// ProxyURL is the URL of the proxy with the credentials as they are since the last renewal,
// for example for [http.ProxyURL]. The caller may change it.
func (l *Lease) ProxyURL() *url.URL {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := *l.url
	return &u
}

// TTL is the life of the lease from its grant or last renewal on.
func (l *Lease) TTL() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ttl
}

// ExpiresAt is when the lease ends unless it is renewed, by the fleet's clock.
func (l *Lease) ExpiresAt() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.expires
}

// CoolingUntil is until when the proxy rests for the target, or for every target, by the
// fleet's clock, as the last renewal said: go on with another lease. Zero if it does not.
func (l *Lease) CoolingUntil() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cooling
}

// Remaining is how long the lease lasts at least, whatever the clocks of this machine and
// of the fleet say; negative once it has ended.
func (l *Lease) Remaining() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Until(l.granted.Add(l.ttl))
}

// Transport sends requests through the proxy. It is the same at each call and keeps its
// connections; Release closes those that are idle. Renewed credentials are used by the
// connections that it makes from then on.
func (l *Lease) Transport() *http.Transport { return l.transport() }

func (l *Lease) newTransport() *http.Transport {
	return newTransport(func(*http.Request) (*url.URL, error) { return l.ProxyURL(), nil })
}

// Renew lets the lease end ttl from now; 0 is as long as before. [ErrUnknownLease] tells
// that it has ended, [ErrProxyGone] that its proxy has.
func (l *Lease) Renew(ctx context.Context, ttl time.Duration) error {
	s := seconds(cmp.Or(ttl, l.TTL()))
	var g granted
	sent, err := l.client.do(ctx, call{
		method: http.MethodPut, path: l.path(),
		body: leaseBody{TTLSeconds: s},
	}, &g)
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.ttl = time.Duration(s) * time.Second
	l.mu.Unlock()
	return l.take(g, sent)
}

func (l *Lease) path() string { return "/v1/leases/" + url.PathEscape(l.ID) }

// Report says what became of the lease's use. An empty target is the lease's; with neither
// it is every target. A lease can be reported about for ten minutes after its end.
func (l *Lease) Report(ctx context.Context, result Result, target string) error {
	body := struct {
		Result Result `json:"result"`
		Target string `json:"target,omitempty"`
	}{result, target}
	_, err := l.client.do(ctx, call{method: http.MethodPost, path: l.path() + "/report", body: body, once: true}, nil)
	return err
}

// Release ends the lease, and KeepAlive with it. To release one that has ended is no error.
// Give it a context that outlives the work: [context.WithoutCancel].
func (l *Lease) Release(ctx context.Context) error {
	l.end()
	l.Transport().CloseIdleConnections()
	_, err := l.client.do(ctx, call{method: http.MethodDelete, path: l.path()}, nil)
	return err
}

func (l *Lease) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.ended:
	default:
		close(l.ended)
	}
}

// KeepAlive renews the lease at half of its life, until ctx ends or the lease is released:
// then it returns nil. It returns what ended the lease otherwise: [ErrUnknownLease],
// [ErrProxyGone], or why it could not be renewed until it had ended. Run it in a goroutine.
func (l *Lease) KeepAlive(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		timer := time.NewTimer(l.Remaining() - l.TTL()/2)
		select {
		case <-ctx.Done():
		case <-l.ended:
		case <-timer.C:
		}
		timer.Stop()
		if l.isOver(ctx) {
			return nil
		}
		if err := l.renewInTime(ctx); err != nil {
			if l.isOver(ctx) {
				return nil
			}
			return err
		}
	}
}

func (l *Lease) isOver(ctx context.Context) bool {
	select {
	case <-l.ended:
		return true
	case <-ctx.Done():
		return true
	default:
		return false
	}
}

// renewInTime tries until the lease is renewed or has ended, once at least: the fleet knows
// better than this clock.
func (l *Lease) renewInTime(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, max(l.Remaining(), time.Second))
	defer cancel()
	for attempt := 1; ; attempt++ {
		err := l.Renew(ctx, 0)
		if err == nil || isFinal(err) || !pause(ctx, min(backoff(attempt, err), maxPause)) {
			return err
		}
	}
}

// isFinal reports whether asking again will have the same answer.
func isFinal(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return !ok || e.Status >= 400 && e.Status < 500 && e.Status != http.StatusTooManyRequests
}
