package forward

import (
	"context"
	"sync"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/access"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/destination"
	"github.com/gatehouse-proxy/gatehouse/pkg/proxy"
)

// open connects to a target. By a route it gives up when the client does: it may take
// long until there is a proxy to go by.
func (x *session) open(ctx context.Context, grant access.Grant, to destination.Target) (*Passage, error) {
	if x.Routes == nil {
		return x.route.Tunnel(ctx, grant, to)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	watching, enough := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		if x.raw.AwaitClosed(watching) {
			cancel(errGone)
		}
	})
	p, err := x.route.Tunnel(ctx, grant, to)
	enough()
	watcher.Wait()
	cancel(nil)
	return p, err
}

// drop gives back what was opened for nobody.
func (p *Passage) drop() {
	_ = p.Conn.Close()
	p.done()
}

// tunnel carries bytes between the client and a target until either side is done, or
// nothing has passed for long, or the lease has ended. What the client sent ahead goes
// first.
func (x *session) tunnel(ctx context.Context, grant access.Grant, protocol string, to destination.Target, p *Passage) error {
	target := p.Conn
	defer p.done()
	defer func() { _ = target.Close() }()
	ahead, _ := x.in.Peek(x.in.Buffered())
	if len(ahead) > 0 {
		_ = target.SetWriteDeadline(time.Now().Add(x.Limits.Startup))
		if _, err := target.Write(ahead); err != nil {
			return err
		}
		x.counters.sent.Add(int64(len(ahead)))
	}
	x.in = nil // a tunnel may last for days
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer x.leases.hold(grant, cancel)()
	defer p.follow(cancel)()
	relay := proxy.NewRelay(x.conn, target, proxy.Options{Linger: -1})
	defer x.counters.live(relay)()
	defer x.endIdle(ctx, relay, cancel).Stop()
	result := relay.Run(ctx)
	x.Log.Debug("tunnel ended", keyProtocol, protocol, keyClient, x.client, keyTarget, to.String(), keyLease, grant.Lease,
		"sent", result.FromA, "received", result.FromB, "by", result.First.String(), keyError, context.Cause(ctx))
	return nil
}

// idleLooks is how often within Limits.Idle a tunnel is looked at.
const idleLooks = 4

// endIdle ends the relay once nothing has passed for Limits.Idle, or a little later.
func (x *session) endIdle(ctx context.Context, relay *proxy.Relay, cancel context.CancelCauseFunc) *time.Timer {
	var last int64
	quiet := 0
	var timer *time.Timer
	look := func() {
		a, b := relay.Forwarded()
		if quiet++; a+b != last {
			last, quiet = a+b, 0
		}
		switch {
		case ctx.Err() != nil:
		case quiet >= idleLooks:
			cancel(errIdle)
		default:
			timer.Reset(x.Limits.Idle / idleLooks)
		}
	}
	timer = time.AfterFunc(time.Hour, look) // before look may run, timer is set
	timer.Reset(x.Limits.Idle / idleLooks)
	return timer
}
