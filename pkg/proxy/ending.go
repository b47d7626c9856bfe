package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

// past is a deadline that wakes whoever waits.
var past = time.Unix(1, 0)

// stop lets nothing more pass and wakes both directions, which say their last
// words. r.mu is held.
func (r *Relay) stop(final Final) {
	r.stopped = true
	r.setFirst(Owner)
	r.a.final, r.b.final = final.ToB, final.ToA
	by := time.Now().Add(r.patience())
	for _, c := range []net.Conn{r.a.from, r.b.from} {
		_ = c.SetReadDeadline(past)
		_ = c.SetWriteDeadline(by)
	}
}

// patience is how long a relay that was stopped waits for its sides.
func (r *Relay) patience() time.Duration {
	if r.options.Linger < 0 {
		return DefaultLinger
	}
	return r.options.Linger
}

// soon is when that patience ends, if it begins now.
func (r *Relay) soon() time.Time { return time.Now().Add(r.patience()) }

// setFirst remembers the first that ended. r.mu is held.
func (r *Relay) setFirst(p Party) bool {
	if r.first != Nobody {
		return false
	}
	r.first = p
	return true
}

// end records that side has ended, in order if err is nil, unless the relay was
// stopped before: it reports that, and whether it was aborted even.
func (r *Relay) end(side Party, err error) (stopped, aborted bool) {
	r.mu.Lock()
	first := false
	if !r.stopped {
		r.blame(side, err)
		first = r.setFirst(side)
	}
	stopped, aborted = r.stopped, r.aborted
	r.mu.Unlock()
	if first && r.options.Ended != nil {
		r.options.Ended(side)
	}
	return stopped, aborted
}

// blame remembers why a side failed. The kernel tells its reader or its writer,
// whoever asks first; to the writer it then says EPIPE, as it does when a peer that
// ended in order is written to. r.mu is held.
func (r *Relay) blame(side Party, err error) {
	switch known := r.failures[side]; {
	case err == nil, ours(err):
	case errors.Is(err, syscall.EPIPE) && (known != nil || r.first == side):
	case known == nil, errors.Is(known, syscall.EPIPE):
		r.failures[side] = err
	}
}

// bound gives the direction back, which reads what d wrote to, its last deadline.
func (r *Relay) bound(d *direction) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.aborted || r.stopped || r.options.Linger < 0 {
		return
	}
	by := time.Now().Add(r.options.Linger)
	_ = d.to.SetReadDeadline(by)
	_ = d.from.SetWriteDeadline(by)
}

// grant sets a deadline to when the patience of a relay that has ended is over, if that
// begins now. It reports false, and sets nothing, if the relay was aborted.
func (r *Relay) grant(deadline func(time.Time) error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.aborted {
		_ = deadline(r.soon())
	}
	return !r.aborted
}

// abort closes both connections under whoever uses them. Deadlines come first: a
// close waits for the reader of its connection, which may be writing to the other.
func (r *Relay) abort() {
	r.mu.Lock()
	r.aborted, r.stopped = true, true
	r.setFirst(Forced)
	_ = r.a.from.SetDeadline(past)
	_ = r.b.from.SetDeadline(past)
	r.mu.Unlock()
	r.close()
}

// close closes the sockets. A TLS session that ended well has said so already.
func (r *Relay) close() {
	_ = bare(r.a.from).Close()
	_ = bare(r.b.from).Close()
}

// panicked ends the relay for what an observer, or the owner's Ended, did.
func (r *Relay) panicked(p *PanicError) {
	r.mu.Lock()
	if r.panic == nil {
		r.panic = p
	}
	r.mu.Unlock()
	r.abort()
}

// bare is the connection under TLS.
func bare(c net.Conn) net.Conn {
	if c, ok := c.(*tls.Conn); ok {
		return c.NetConn()
	}
	return c
}

// closeWrite tells the peer that nothing follows: close_notify within TLS, then FIN.
func closeWrite(c net.Conn) {
	if c, ok := c.(*tls.Conn); ok {
		_ = c.CloseWrite()
	}
	if half, ok := bare(c).(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// ours reports whether err is an end that the relay itself brought about.
func ours(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed)
}

// handshaken completes the handshake of a TLS session; a poll could not.
func handshaken(ctx context.Context, c net.Conn) error {
	if c, ok := c.(*tls.Conn); ok && !c.ConnectionState().HandshakeComplete {
		return Handshake(ctx, c)
	}
	return nil
}
