package proxy

import (
	"context"
	"crypto/tls"
	"runtime/debug"
)

// Handshake completes the handshake of c on a goroutine of its own and waits for
// it: a handshake needs a large stack, which would stay with the caller for long.
// The end of ctx closes the connection beneath c and is the error; a panic, of a
// callback in c's configuration, is a *PanicError.
func Handshake(ctx context.Context, c *tls.Conn) error {
	if base, ok := c.NetConn().(*Conn); ok && base.records == nil {
		base.records = new(records)
	}
	done := make(chan error, 1)
	go func() { done <- handshake(ctx, c) }()
	return <-done
}

func handshake(ctx context.Context, c *tls.Conn) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return c.HandshakeContext(ctx)
}
