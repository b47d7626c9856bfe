package forward

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/access"
)

// exchange is one request of plain HTTP and its response. Its context ends when the
// lease does, when nothing has passed for long, or when the client has gone; what then
// reads from the client or writes to it is woken.
type exchange struct {
	*session
	grant   access.Grant
	ctx     context.Context
	cancel  context.CancelCauseFunc
	idle    *time.Timer
	forget  func()      // the end of the lease
	asleep  func() bool // stops the waking; false if it has begun
	woken   chan struct{}
	watcher sync.WaitGroup

	writing sync.Mutex // of heads before the response's
	begun   bool       // the response has; under writing
	newer   bool       // the client knows of heads before the response's
}

func (x *session) exchange(ctx context.Context, grant access.Grant, req *http.Request) (context.Context, *exchange) {
	e := &exchange{session: x, woken: make(chan struct{}), newer: req.ProtoAtLeast(1, 1), grant: grant}
	ctx, e.cancel = context.WithCancelCause(ctx)
	e.ctx = ctx
	e.idle = time.AfterFunc(x.Limits.Idle, func() { e.cancel(errIdle) })
	e.forget = x.leases.hold(grant, e.cancel)
	e.asleep = context.AfterFunc(ctx, func() {
		defer close(e.woken)
		_ = x.conn.SetDeadline(past)
	})
	return ctx, e
}

// end waits for everything that the exchange has started, and reports whether its
// context had ended before.
func (e *exchange) end(body *upload) (gone bool) {
	body.wait() // while the connection still wakes who reads from it
	gone = e.ctx.Err() != nil
	e.idle.Stop()
	e.forget()
	if !e.asleep() {
		<-e.woken
	}
	e.cancel(nil)
	e.watcher.Wait()
	_ = e.conn.SetDeadline(time.Time{})
	return gone
}

// touch notes that something has passed.
func (e *exchange) touch() { e.idle.Reset(e.Limits.Idle) }

// watch ends the exchange when the client goes. Nothing may be read beside it.
func (e *exchange) watch() {
	e.watcher.Go(func() {
		if e.raw.AwaitClosed(e.ctx) {
			e.cancel(errGone)
		}
	})
}

// inform writes a head before that of the response, as long as there is none.
func (e *exchange) inform(code int, h http.Header) error {
	e.writing.Lock()
	defer e.writing.Unlock()
	if e.begun || !e.newer {
		return nil
	}
	head := []byte("HTTP/1.1 " + strconv.Itoa(code) + " " + http.StatusText(code) + "\r\n")
	out := &appender{head}
	if err := h.Write(out); err != nil {
		return err
	}
	_, err := e.conn.Write(append(out.b, "\r\n"...))
	return err
}

// respond says that the response's head is next.
func (e *exchange) respond() {
	e.writing.Lock()
	defer e.writing.Unlock()
	e.begun = true
}

type appender struct{ b []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}
