package app

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/config"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/servertls"
)

// Postgres routes sessions until ctx ends, and then goes away in order.
func Postgres(ctx context.Context, c config.Postgres, io IO) error {
	spareProcessor()
	store, err := certificates(c, io)
	if err != nil {
		return err
	}
	servers, err := findServers(c, io)
	if err != nil {
		return err
	}
	secure, err := servertls.New(servertls.Options{
		Mode: c.ServerTLS.Mode, CAFile: c.ServerTLS.CAFile, CertFile: c.ServerTLS.CertFile, KeyFile: c.ServerTLS.KeyFile, Log: io.Log,
	})
	if err != nil {
		return err
	}
	warnOfFewFiles(c.MaxConnections, openFiles(), io.Log)
	metrics := observe.NewRouterMetrics()
	others, err := meetReplicas(ctx, c, metrics, io)
	if err != nil {
		return err
	}
	at, err := openListeners(ctx, c, io)
	if err != nil {
		return errors.Join(err, others.close())
	}
	r := postgres.New(postgres.Options{
		Resolver: servers, Waits: append(servers.waits, certificateWaits(store)...), TLS: store, Required: c.TLS.Required, Suffix: c.SNISuffix, Proxy: c.ProxyProtocol, Servers: secure,
		Connections: c.MaxConnections, DialTimeout: c.DialTimeout, Log: io.Log,
		Limits: postgres.Limits(c.Limits), Endpoints: servers.endpoints, Problems: servers.problems,
		Metrics: metrics, Peers: others.asked(), CancelOnDisconnect: c.CancelOnDisconnect,
	})
	io.Log.Info("routing", observe.KeyAddress, at.clients.Addr().String(), observe.KeyHealth, url(at.health), observe.KeyTotal, len(c.Backends))
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	var beside sync.WaitGroup
	beside.Go(func() { servers.run(working, r.Fence) })
	beside.Go(func() { keep(working, store) })
	beside.Go(func() { serveHealth(working, at.health, r.Health(), io) })
	beside.Go(func() { serveAdmin(working, at.admin, r, io) })
	beside.Go(func() { others.answer(working, r) })
	err = r.Run(ctx, at.clients, postgres.Life{})
	stop()
	beside.Wait()
	return err
}

// listeners are where a router is reached; admin may be nil.
type listeners struct{ clients, health, admin net.Listener }

// openListeners opens all of them, or none.
func openListeners(ctx context.Context, c config.Postgres, io IO) (at listeners, err error) {
	if at.clients, err = listen(ctx, "--proxy-start-port", c.Address()); err != nil {
		return at, err
	}
	if at.health, err = listen(ctx, "--health-server-port", c.HealthAddress()); err != nil {
		return at, errors.Join(err, at.clients.Close())
	}
	if at.admin, err = listenAdmin(ctx, c, io); err != nil {
		return at, errors.Join(err, at.clients.Close(), at.health.Close())
	}
	return at, nil
}

// healthTimeout bounds how long a health check may take to ask.
const healthTimeout = 5 * time.Second

// serveHealth answers health checks until ctx ends. Sessions go on without it.
func serveHealth(ctx context.Context, l net.Listener, h http.Handler, io IO) {
	server := &http.Server{Handler: h, ReadTimeout: healthTimeout, WriteTimeout: healthTimeout}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		io.Log.Error("health is not served any more", observe.KeyError, err)
	}
}
