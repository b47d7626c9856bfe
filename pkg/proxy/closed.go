package proxy

import (
	"context"
	"errors"
	"os"
	"time"
)

// AwaitClosed blocks until the peer has closed its stream or the connection has
// failed, and reports true, or until ctx ends. Bytes that arrive meanwhile stay where
// they are, also those of an alert with which TLS ends. Nobody may read beside it, and
// it leaves the connection without a read deadline.
func (c *Conn) AwaitClosed(ctx context.Context) bool {
	if c.raw == nil {
		<-ctx.Done()
		return false
	}
	_ = c.SetReadDeadline(time.Time{})
	woken := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(woken)
		_ = c.SetReadDeadline(past)
	})
	err := c.raw.Read(peerClosed)
	if !stop() {
		<-woken
	}
	_ = c.SetReadDeadline(time.Time{})
	return !errors.Is(err, os.ErrDeadlineExceeded)
}
