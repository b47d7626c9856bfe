package load

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// client sends single requests, many at once.
type client struct {
	Options
	pool *pool
}

func newClient(o Options) *client { return &client{Options: o, pool: newPool(o.Kept)} }

// errNoConnection: the request did not reach the proxy.
var errNoConnection = errors.New("no connection")

// ask sends r now and writes how it ended into it. If ctx ends first, nothing.
func (c *client) ask(ctx context.Context, r *lab.Request) {
	r.Sent = c.Clock()
	deadline := time.Now().Add(time.Duration(r.Due + c.Timeout - r.Sent))
	got, err := c.exchange(ctx, r.ID, deadline)
	r.Done = c.Clock()
	switch {
	case err == nil:
		r.Outcome, r.Code, r.Backend = got.outcome(r.ID), got.code, got.backend
	case ctx.Err() != nil:
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		r.Outcome = lab.TimedOut
	case errors.Is(err, errNoConnection):
		r.Outcome = lab.Refused
	default:
		r.Outcome = lab.Reset
	}
}

// exchange sends the request with that id once, and reads its whole answer.
func (c *client) exchange(ctx context.Context, id uint64, deadline time.Time) (answer, error) {
	conn, err := c.connection(ctx, id, deadline)
	if err != nil {
		return answer{}, err
	}
	got, err := conn.exchange(c.Address, id)
	c.pool.put(conn, err == nil && !got.last)
	return got, err
}

// connection returns an open connection for the request with that id.
func (c *client) connection(ctx context.Context, id uint64, deadline time.Time) (*connection, error) {
	fresh := c.FreshEvery > 0 && id%uint64(c.FreshEvery) == 0
	for !fresh {
		kept := c.pool.take()
		if kept == nil {
			break
		}
		if kept.SetDeadline(deadline) == nil && kept.quiet() {
			return kept, nil
		}
		c.pool.put(kept, false)
	}
	return c.dial(ctx, fresh, deadline)
}

func (c *client) dial(ctx context.Context, fresh bool, deadline time.Time) (*connection, error) {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	socket, err := c.Dial(ctx, "tcp", c.Address)
	if err != nil {
		if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
			return nil, os.ErrDeadlineExceeded
		}
		return nil, errors.Join(errNoConnection, err)
	}
	conn := newConnection(socket, fresh)
	if err := errors.Join(c.pool.add(conn), conn.SetDeadline(deadline)); err != nil {
		c.pool.put(conn, false)
		return nil, err
	}
	return conn, nil
}

// outcome tells what a means to the client of the request with that id. Only a
// backend's 200 to this very request counts as an answer.
func (a answer) outcome(id uint64) lab.Outcome {
	if a.code == http.StatusOK && a.backend != "" && a.echo == strconv.FormatUint(id, 10) {
		return lab.Answered
	}
	return lab.Status
}
