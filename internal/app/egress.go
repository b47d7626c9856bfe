package app

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	client "github.com/gatehouse-proxy/gatehouse/clients/go"
	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/config"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/egress"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/egress/metrics"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/egress/token"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/destination"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/version"
	"github.com/gatehouse-proxy/gatehouse/pkg/runner"
)

// superProxy is one that runs, by itself or within a fleet.
type superProxy struct {
	config   config.Egress
	io       IO
	metrics  *metrics.Metrics
	api      func() string // URL of the lease API
	tokens   *token.File   // nil lets everybody in
	server   *egress.Server
	listener net.Listener
}

// egressStopTimeout is what the rest takes beside the drain.
const egressStopTimeout = 20 * time.Second

// Egress runs a super-proxy until ctx ends, and lets what is under way end.
func Egress(ctx context.Context, c config.Egress, io IO) error {
	catalog := observe.NewCatalog()
	s := &superProxy{config: c, io: io, metrics: metrics.New(catalog), api: func() string { return c.LeaseAPI }}
	var adminListener, metricsListener net.Listener
	before := []runner.Component{
		{Name: "addresses", Start: func(ctx context.Context) (err error) {
			if adminListener, err = listen(ctx, "--admin-address", c.AdminAddress); err != nil {
				return err
			}
			if metricsListener, err = listen(ctx, "--metrics-address", c.MetricsAddress); err != nil {
				_ = adminListener.Close()
			}
			return err
		}},
		{Name: "admin", Run: func(ctx context.Context) error {
			return admin.Serve(ctx, adminListener, admin.Guard(s.admin()))
		}},
		{Name: "metrics", Run: func(ctx context.Context) error {
			return admin.Serve(ctx, metricsListener, promhttp.HandlerFor(catalog.Registry, promhttp.HandlerOpts{}))
		}},
	}
	// last, so that how it goes away can be looked at as long as it does
	all := slices.Concat(before, s.components())
	return runner.Run(ctx, runner.Options{StopTimeout: c.DrainTimeout + egressStopTimeout, Started: func() {
		io.Log.Info("serving", observe.KeyVersion, version.Number, observe.KeyAddress, s.listener.Addr().String(), "admin", url(adminListener), observe.KeyMetrics, url(metricsListener))
	}}, all...)
}

// admin answers of the super-proxy that there is once it has started.
func (s *superProxy) admin() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.server.Admin().ServeHTTP(w, r) })
}

// components are the super-proxy and its tokens.
func (s *superProxy) components() []runner.Component {
	return []runner.Component{
		{Name: "egress tokens", Start: s.openTokens, Run: func(ctx context.Context) error {
			if s.tokens == nil {
				return nil
			}
			return s.tokens.Watch(ctx)
		}},
		{Name: "super-proxy", Start: s.start, Run: func(ctx context.Context) error { return s.server.Run(ctx, s.listener) }},
	}
}

func (s *superProxy) openTokens(context.Context) (err error) {
	if s.config.Tokens == "" {
		return nil
	}
	if s.tokens, err = token.Open(s.config.Tokens, s.io.Log); err != nil {
		return fmt.Errorf("--tokens %s: %w", s.config.Tokens, err)
	}
	if s.tokens.Set().Len() == 0 {
		s.io.Log.Warn("there are no egress tokens, so nobody may use the super-proxy; 'gatehouse egress token NAME' makes one", observe.KeyFile, s.config.Tokens)
	}
	return nil
}

func (s *superProxy) start(ctx context.Context) error {
	c := s.config
	certificate, err := serverTLS(c.TLSCert, c.TLSKey)
	if err != nil {
		return err
	}
	if s.listener, err = listen(ctx, "--listen", c.Listen); err != nil {
		return err
	}
	log.SetOutput(io.Discard) // net/http logs there what targets send unasked, in their words
	s.server = egress.New(egress.Config{
		Client: &client.Client{BaseURL: s.api(), Token: c.Token, HTTPClient: leaseClient()}, Tokens: s.tokens,
		Rules: destination.Rules{Allow: c.AllowDestinations, Ports: c.AllowPorts}, TLS: certificate, Limits: egressLimits(c), Metrics: s.metrics, Log: s.io.Log,
	})
	s.metrics.Of(s.server)
	s.io.Log.Info("super-proxy listens", observe.KeyAddress, s.listener.Addr().String(), "lease-api", s.api())
	return nil
}

func egressLimits(c config.Egress) forward.Limits {
	l := forward.DefaultLimits()
	l.Connections, l.Connect, l.Idle, l.Drain = c.MaxConnections, c.ConnectTimeout, c.IdleTimeout, c.DrainTimeout
	return l
}

// leaseConnections are kept to the lease API for the next requests.
const leaseConnections = 256

// leaseClient goes by no proxy: it asks for one.
func leaseClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		TLSHandshakeTimeout: 5 * time.Second, MaxIdleConns: leaseConnections, MaxIdleConnsPerHost: leaseConnections, IdleConnTimeout: time.Minute,
	}}
}

// serverTLS reads what clients shake hands with; nil without files.
func serverTLS(cert, key string) (*tls.Config, error) {
	if cert == "" {
		return nil, nil //nolint:nilnil // in clear
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert %s, --tls-key %s: %w; give a certificate and its key in PEM", cert, key, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}, nil
}
