package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/cancel"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
)

// Cancels of one network (/24, /64) that are passed on: more come from no client, and
// guess keys.
var cancelLimits = cancel.Limits{Rate: 50, Burst: 200, Networks: 4096}

// cancel passes a cancel on to every server that gave the key, and returns once these
// have closed their connections: only then have they signalled, and the client may go
// on. Unknown keys, and too many, are answered like known ones: with silence.
func (r *Router) cancel(ctx context.Context, client net.Addr, key pgwire.Key) error {
	if !r.cancels.Allow(addressOf(client)) {
		return nil
	}
	packet, err := pgwire.AppendCancelRequest(nil, key)
	if err != nil {
		return err
	}
	targets := r.keys.Lookup(nil, key)
	errs := make([]error, len(targets))
	var wg sync.WaitGroup
	for i, target := range targets {
		wg.Go(func() { errs[i] = r.sendCancel(ctx, target.Address, packet) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (r *Router) sendCancel(ctx context.Context, target discovery.Target, packet []byte) error {
	ctx, done := context.WithTimeout(ctx, r.options.DialTimeout)
	defer done()
	server, err := r.servers.connect(ctx, target, packet)
	if err != nil {
		return err
	}
	defer server.Close()
	if err := server.SetDeadline(time.Now().Add(r.options.DialTimeout)); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, server)
	return err
}

func addressOf(a net.Addr) netip.Addr {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr()
	}
	return netip.Addr{}
}
