package app

import (
	"context"
	"net"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/config"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres"
)

// listenAdmin opens the admin address; nil where the default is taken, by another router
// on this machine for example: sessions need none.
func listenAdmin(ctx context.Context, c config.Postgres, io IO) (net.Listener, error) {
	l, err := listen(ctx, "--admin-address", c.AdminAddress)
	if err == nil || c.AdminGiven {
		return l, err
	}
	io.Log.Warn("/routes is not answered", observe.KeyError, err)
	return nil, nil //nolint:nilnil // it goes without
}

// serveAdmin answers until ctx ends.
func serveAdmin(ctx context.Context, l net.Listener, r *postgres.Router, io IO) {
	if l == nil {
		return
	}
	io.Log.Info("answering /routes", observe.KeyAddress, l.Addr().String())
	if err := admin.Serve(ctx, l, admin.Guard(r.Admin())); err != nil {
		io.Log.Error("/routes is not answered any more", observe.KeyError, err)
	}
}
