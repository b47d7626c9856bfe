package postgres

import (
	"context"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/cancel"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
	"github.com/gatehouse-proxy/gatehouse/pkg/proxy"
)

// Peers are the other replicas of a router.
type Peers interface {
	// Ask asks them for the cancel of the session with a key, and returns once all have
	// answered, or one has delivered it and the rest had a moment, within some seconds: cancel.Peer, cancel.Failed, cancel.Unknown, or
	// cancel.Limited if that was too much to ask.
	Ask(ctx context.Context, key pgwire.Key) cancel.Outcome
}

// Cancels of one network (/24, /64) that are passed on: more come from no client, and
// guess keys.
var cancelLimits = cancel.Limits{Rate: 50, Burst: 200, Networks: 4096}

// cancelSlot is what the time that a cancel takes is a multiple of, for its client: a
// key of this replica, a key of another one, and one of nobody, look alike while all
// replicas answer.
const cancelSlot = 50 * time.Millisecond

// cancel serves a client that asks for one. It returns, so that the client is let go,
// once the servers have signalled: only then may the client use its session again.
// Nothing is said in any case, and a client that asks too often is let go at once.
func (r *Router) cancel(ctx context.Context, c *client, key pgwire.Key) error {
	started := time.Now()
	address := c.conn.RemoteAddr()
	if !r.cancels.Allow(addressOf(address)) {
		r.tally.Add(cancel.Limited)
		return nil
	}
	outcome := r.Deliver(ctx, key)
	if outcome == cancel.Unknown && r.options.Peers != nil {
		outcome = r.options.Peers.Ask(ctx, key)
	}
	if _, inClear := c.conn.(*proxy.Conn); outcome == cancel.Unknown && inClear && r.roster.unread() {
		outcome = cancel.Unroutable
	}
	r.tally.Add(outcome)
	r.options.Log.Debug("cancel", observe.KeyAddress, address.String(), observe.KeyReason, string(outcome), observe.KeyTook, time.Since(started))
	pause(ctx, cancelSlot-time.Since(started)%cancelSlot)
	return nil
}

// Deliver cancels what the session with a key does, if it is one of this replica, and
// returns once every server that gave the key has closed the connection: it has
// signalled then. The outcome is cancel.Known, cancel.Unknown, or cancel.Failed if a
// server did not take it.
func (r *Router) Deliver(ctx context.Context, key pgwire.Key) cancel.Outcome {
	targets := r.keys.Lookup(nil, key)
	if len(targets) == 0 {
		return cancel.Unknown
	}
	errs := make([]error, len(targets))
	var wg sync.WaitGroup
	for i, target := range targets {
		wg.Go(func() { errs[i] = r.sendCancel(ctx, target.Address, key) })
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			r.options.Log.Warn("a server did not take a cancel", observe.KeyAddress, targets[i].Address.Address, observe.KeyError, err)
			return cancel.Failed
		}
	}
	return cancel.Known
}

// Cancels counts what became of cancels.
func (r *Router) Cancels() *cancel.Tally[cancel.Outcome] { return r.tally }

// sendCancel sends a cancel the way that its session went, and waits until the server
// has closed the connection.
func (r *Router) sendCancel(ctx context.Context, target discovery.Target, key pgwire.Key) error {
	packet, err := pgwire.AppendCancelRequest(nil, key)
	if err != nil {
		return err
	}
	ctx, done := context.WithTimeout(ctx, r.options.DialTimeout)
	defer done()
	server, err := r.servers.connect(ctx, target, packet)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = server.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	defer server.Close()
	_, err = io.Copy(io.Discard, server)
	return err
}

// pause waits for d. It is false if ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func addressOf(a net.Addr) netip.Addr {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr()
	}
	return netip.Addr{}
}
