package app

import (
	"context"
	"net"
	"net/netip"
	"strconv"

	"github.com/gatehouse-proxy/gatehouse/internal/config"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/cancel/peer"
)

// replicas are the others of this router, for cancels that came to the wrong one. The
// zero value is for a router that is alone.
type replicas struct {
	listener net.Listener
	keys     *peer.Keyring
	client   *peer.Client
	count    func(peer.Outcome)
	io       IO
}

// meetReplicas listens for the others, and asks nobody yet. What becomes of questions is
// counted in m.
func meetReplicas(ctx context.Context, c config.Postgres, m *observe.RouterMetrics, io IO) (replicas, error) {
	if c.CancelPeers.KeyFile == "" {
		return replicas{}, nil
	}
	keys, err := peer.NewKeyring(c.CancelPeers.KeyFile, io.Log)
	if err != nil {
		return replicas{}, err
	}
	address := net.JoinHostPort(c.ListenAddress.String(), strconv.Itoa(c.CancelPeers.Port))
	l, err := listen(ctx, "--cancel-peer-port", address)
	if err != nil {
		return replicas{}, err
	}
	self, _ := netip.ParseAddrPort(l.Addr().String())
	count := func(o peer.Outcome) { m.CancelPeers.WithLabelValues(string(o)).Inc() }
	io.Log.Info("answering cancel peers", observe.KeyAddress, self.String())
	return replicas{
		listener: l, keys: keys, count: count, io: io,
		client: peer.NewClient(peer.ClientOptions{Peers: c.CancelPeers.Addresses, Self: self, Keys: keys, Count: count, Log: io.Log}),
	}, nil
}

// asked are the others as a router asks them.
func (r replicas) asked() postgres.Peers {
	if r.client == nil {
		return nil
	}
	return r.client
}

// answer answers the others until ctx ends.
func (r replicas) answer(ctx context.Context, router *postgres.Router) {
	if r.listener == nil {
		return
	}
	s := peer.NewServer(peer.ServerOptions{Keys: r.keys, Deliver: router.Deliver, Count: r.count, Log: r.io.Log})
	if err := s.Serve(ctx, r.listener); err != nil {
		r.io.Log.Error("cancel peers are not answered any more", observe.KeyError, err)
	}
}

// close is for a router that does not come to serve.
func (r replicas) close() error {
	if r.listener == nil {
		return nil
	}
	return r.listener.Close()
}
