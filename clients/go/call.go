package egress

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// call is one request of the lease API.
type call struct {
	method, path string
	query        url.Values
	body         any // nil without
	key          string
	wait         time.Duration
	// once: it may be made again only if the fleet cannot have acted on it; others do the
	// same whether they come once or twice.
	once bool
}

const (
	defaultAttempts = 4
	firstPause      = 100 * time.Millisecond
	// maxPause bounds a pause before the next attempt; who is told to come back later than
	// that gets the answer.
	maxPause = 30 * time.Second
	// maxAnswer bounds what is read of an answer, in bytes. A list of 10,000 proxies fits.
	maxAnswer = 64 << 20
)

// direct goes through no proxy: what the environment names may be a proxy of this fleet.
var direct = &http.Client{Transport: newTransport(nil)}

// newTransport has the bounds of [http.DefaultTransport], which others may have replaced.
func newTransport(proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	return &http.Transport{
		Proxy: proxy, ForceAttemptHTTP2: true,
		DialContext:         (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second, ExpectContinueTimeout: time.Second,
		MaxIdleConns: 100, MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second,
	}
}

// do makes a call until it is answered for good, and returns when it began: whatever the
// fleet did, it did later.
func (c *Client) do(ctx context.Context, k call, answer any) (sent time.Time, err error) {
	body, err := k.encode()
	if err != nil {
		return sent, err
	}
	sent = time.Now()
	for attempt := 1; ; attempt++ {
		err = c.attempt(ctx, k, body, answer)
		if err == nil || attempt >= cmp.Or(c.Attempts, defaultAttempts) || !k.again(err) {
			return sent, err
		}
		d := backoff(attempt, err)
		if d > maxPause || !pause(ctx, d) {
			return sent, err
		}
	}
}

func (k call) encode() ([]byte, error) {
	if k.body == nil {
		return nil, nil
	}
	return json.Marshal(k.body)
}

// again reports whether a failure may be gone at the next attempt, and that is safe.
func (k call) again(err error) bool {
	e, ok := errors.AsType[*Error](err)
	switch {
	case !ok:
		return false
	case e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable:
		return true // it was not acted on
	case e.Status == 0 || e.Status >= 500:
		return !k.once || notSent(err)
	}
	return false
}

// notSent reports whether no byte of the request can have arrived.
func notSent(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// backoff is how long to wait after so many attempts: as the fleet says, or ever longer.
func backoff(attempts int, err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok && e.RetryAfter > 0 {
		return e.RetryAfter
	}
	d := firstPause << min(attempts-1, 6)
	return d/2 + rand.N(d)
}

// pause waits, and reports whether ctx lasts that long; if not, it returns at once.
func pause(ctx context.Context, d time.Duration) bool {
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func (c *Client) attempt(ctx context.Context, k call, body []byte, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout()+k.wait)
	defer cancel()
	r, err := c.request(ctx, k, body)
	if err != nil {
		return err
	}
	response, err := cmp.Or(c.HTTPClient, direct).Do(r)
	if err != nil {
		return unreachable(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return unreachable(err)
	}
	return read(response, text, answer)
}

func (c *Client) timeout() time.Duration { return cmp.Or(c.Timeout, DefaultTimeout) }

func (c *Client) request(ctx context.Context, k call, body []byte) (*http.Request, error) {
	at := strings.TrimSuffix(c.BaseURL, "/") + k.path
	if len(k.query) > 0 {
		at += "?" + k.query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, k.method, at, bytes.NewReader(body))
	if err != nil || r.URL.Host == "" {
		return nil, errors.New("lease API: Client.BaseURL is no URL such as http://127.0.0.1:8090")
	}
	r.Header.Set("User-Agent", "gatehouse-egress-go/"+Version)
	if k.body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	if k.key != "" {
		r.Header.Set("Idempotency-Key", k.key)
	}
	return r, nil
}

// read takes what was answered into answer, which may be nil.
func read(r *http.Response, text []byte, answer any) error {
	if r.StatusCode < 200 || r.StatusCode > 299 {
		var b errorBody
		_ = json.Unmarshal(text, &b) // without a code it is told by its status
		return refusal(r, b)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return &Error{
			Code: ErrUnexpected.Code, Status: r.StatusCode,
			Message: "the answer is no JSON of a lease API: does BaseURL name one?", cause: err,
		}
	}
	return nil
}

// unreachable tells that no answer came, by the cause alone: the URL is known.
func unreachable(err error) error {
	cause := err
	if u, ok := errors.AsType[*url.Error](err); ok {
		cause = u.Err
	}
	e := &Error{Code: ErrUnreachable.Code, cause: cause, Message: "no answer: " + cause.Error()}
	if !errors.Is(cause, context.Canceled) {
		e.Message += "; does gatehouse fleet run, with --lease-address where BaseURL says?"
	}
	return e
}
