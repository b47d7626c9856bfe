package discovery

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// API answers requests. Its methods may be called at once.
type API struct {
	Options
	token    [sha256.Size]byte // its hash
	stopping chan struct{}
	stop     func()
	chain    handler
	limits   limits
}

// New returns an API that serves.
func New(o Options) *API {
	a := &API{Options: o, token: sha256.Sum256([]byte(o.Token)), stopping: make(chan struct{}), limits: usual}
	a.stop = sync.OnceFunc(func() { close(a.stopping) })
	if a.Serving == nil {
		a.Serving = func() error { return nil }
	}
	// The order is part of the contract: a panic anywhere is answered, every request is
	// logged, no more is read than is allowed, and nobody gets further without the token,
	// nor to another process.
	a.chain = a.recovered(a.logged(a.bounded(a.authorized(a.passedOn(a.routed)))))
	return a
}

// Stop lets those who wait go, with 503: the process ends. What else is asked is answered.
func (a *API) Stop() { a.stop() }

// call is one request and its answer.
type call struct {
	w      http.ResponseWriter
	r      *http.Request
	route  *route // nil for a path that is not known
	id     string // of the lease, as the path has it
	status int
	code   Code // of a refusal
}

// handler answers, or returns why it has not: an error for [refusalOf].
type handler func(c *call) error

// ServeHTTP implements [http.Handler].
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{w: w, r: r}
	c.route, c.id = find(r.URL.EscapedPath())
	_ = a.chain(c) // recovered has answered
}

// recovered answers a defect, and tells the log where it is.
func (a *API) recovered(next handler) handler {
	return func(c *call) (err error) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler { //nolint:errorlint // it is a value; another process broke off its answer
				panic(p)
			}
			a.Log.ErrorContext(c.r.Context(), "the lease API has a defect; please report it", "panic", a.redact(fmt.Sprint(p), c), "stack", a.redact(string(debug.Stack()), c))
			if c.status == 0 {
				c.refuse(errDefect)
			}
		}()
		return next(c)
	}
}

// errDefect is answered like every error that nobody has thought of.
var errDefect = errors.New("a panic")

// userInfo is what a URL has before its host.
var userInfo = regexp.MustCompile(`://[^@/\s"]*@`)

// redact removes what nobody may read in a log.
func (a *API) redact(text string, c *call) string {
	text = userInfo.ReplaceAllString(text, "://")
	if a.Token != "" {
		text = strings.ReplaceAll(text, a.Token, "(token)")
	}
	if isID(c.id) {
		text = strings.ReplaceAll(text, c.id, short(c.id))
	}
	return text
}

// logged answers refusals, and tells the log of every request: without its path, query and
// headers, in which secrets may be.
func (a *API) logged(next handler) handler {
	return func(c *call) error {
		began := a.Now()
		if err := next(c); errors.Is(err, errGone) {
			c.status = statusGone
		} else if err != nil {
			a.explain(c.r.Context(), c, err)
			c.refuse(err)
		}
		level := slog.LevelDebug
		if c.status == http.StatusInternalServerError {
			level = slog.LevelInfo
		}
		if ctx := c.r.Context(); a.Log.Enabled(ctx, level) {
			a.Log.LogAttrs(ctx, level, "answered a request of the lease API", slog.String("method", clip(c.r.Method)), slog.String("path", c.route.shown()),
				slog.String("lease", short(c.id)), slog.Int("status", c.status), slog.String("code", string(c.code)), slog.Duration("took", a.Now().Sub(began)))
		}
		return nil
	}
}

// statusGone is what other servers log for a client that does not wait for the answer.
const statusGone = 499

// explain tells the log what a client is not told. That a store cannot be reached is told
// by the store, once, and not for every request.
func (a *API) explain(ctx context.Context, c *call, err error) {
	level := slog.LevelWarn
	switch refusalOf(err).code {
	case Internal:
	case StoreUnavailable:
		level = slog.LevelDebug
	default:
		return
	}
	a.Log.Log(ctx, level, "a request of the lease API failed", "path", c.route.shown(), "error", a.redact(err.Error(), c))
}

// short is as much of a lease's ID as finds it, and does not let anybody use it.
func short(id string) string {
	if !isID(id) {
		return ""
	}
	return id[:8]
}

// bounded lets nobody send more than is read.
func (a *API) bounded(next handler) handler {
	return func(c *call) error {
		if c.r.ContentLength > MaxBody {
			c.w.Header().Set("Connection", "close")
			return refuse(TooLarge, "the body has %d bytes, at most %d: send less", c.r.ContentLength, MaxBody)
		}
		if c.r.ContentLength != 0 {
			c.r.Body = http.MaxBytesReader(c.w, c.r.Body, MaxBody)
		}
		return next(c)
	}
}

// authorized lets nobody further without the token.
func (a *API) authorized(next handler) handler {
	return func(c *call) error {
		if c.route != nil && c.route.open {
			return next(c)
		}
		if a.Token == "" {
			// Whoever opens a web page has not asked for what the page asks of this machine.
			if len(c.r.Header["Origin"]) > 0 {
				return refuse(Forbidden, "web pages are not answered while there is no token: set $%s and send it", TokenVariable)
			}
			return next(c)
		}
		if err := a.authorize(c.r.Header["Authorization"]); err != nil {
			c.w.Header().Set("WWW-Authenticate", `Bearer realm="gatehouse"`)
			return err
		}
		return next(c)
	}
}

func (a *API) authorize(headers []string) error {
	const remedy = "send Authorization: Bearer TOKEN, with the token that $" + TokenVariable + " has where the fleet runs"
	switch {
	case len(headers) == 0:
		return refuse(Unauthorized, "there is no Authorization: %s", remedy)
	case len(headers) > 1:
		return refuse(Unauthorized, "Authorization comes %d times: %s, once", len(headers), remedy)
	}
	scheme, token, _ := strings.Cut(headers[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return refuse(Unauthorized, "Authorization is not of scheme Bearer: %s", remedy)
	}
	// Hashes have one length, so that the time tells nothing, not even that of the token.
	given := sha256.Sum256([]byte(strings.TrimLeft(token, " ")))
	if subtle.ConstantTimeCompare(given[:], a.token[:]) != 1 {
		return refuse(Unauthorized, "the token is not the right one: %s", remedy)
	}
	return nil
}

// errStopping ends a wait.
var errStopping = errors.New("stopping")

// waiting returns a context that also ends when the API stops, for as long as a request
// waits: an answer that is on its way is not cut off.
func (a *API) waiting(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		select {
		case <-a.stopping:
			cancel(errStopping)
		case <-done:
		}
	}()
	return ctx, sync.OnceFunc(func() { close(done); cancel(nil) })
}

// interrupted says why a call ended with its context: the API stops, or the client has
// gone; any other error is returned as it is.
func interrupted(ctx context.Context, err error) error {
	switch {
	case err == nil || ctx.Err() == nil || !errors.Is(err, context.Canceled):
		return err
	case errors.Is(context.Cause(ctx), errStopping):
		return refuse(IsStopping, "this process ends: ask again, and another one answers").after(time.Second)
	}
	return errGone
}
