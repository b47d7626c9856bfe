package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	standard "log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward"
)

// Run serves until ctx ends and then goes away in order. Wrong usage is a *[FlagError];
// other errors are of a machine on which it cannot serve.
func (o Options) Run(ctx context.Context, log *slog.Logger) error {
	c, policy, err := o.config(log)
	if err != nil {
		return err
	}
	statusLoopback := true
	if o.StatusAddress != "" {
		if statusLoopback, err = isLoopback("status-address", o.StatusAddress); err != nil {
			return err
		}
		if !statusLoopback && !policy.Credentials.Any() && len(policy.Sources) == 0 {
			return wrong("status-address", o.StatusAddress, "not loopback: give --auth-dir or --allow-sources, or a loopback address")
		}
	}
	if err := canBind(ctx, c.Egress); err != nil {
		return fmt.Errorf("--egress-address %q: %w; give an address of this machine", o.EgressAddress, err)
	}
	ln, err := listen(ctx, o.Listen)
	if err != nil {
		return fmt.Errorf("--listen %q: %w; give another address", o.Listen, err)
	}
	if o.AuthDir != "" && !policy.Credentials.Any() {
		log.Warn("there are no credentials in --auth-dir: whoever reaches the proxy from an allowed source, or from this machine on loopback, may use it", "dir", o.AuthDir)
	}
	standard.SetOutput(io.Discard) // net/http logs there what targets send unasked, in their words
	s := forward.New(c)
	status, err := o.serveStatus(ctx, s, !statusLoopback)
	if err != nil {
		_ = ln.Close()
		return err
	}
	log.Info("serving", "address", ln.Addr().String(), "scheme", o.Scheme, "status", status.address,
		"credentials", policy.Credentials.Any(), "sources", len(policy.Sources))
	err = s.Run(ctx, ln)
	status.stop()
	log.Info("ended")
	return err
}

// status is the listener for /healthz and /metrics; the zero value is none.
type status struct {
	address string
	stop    func()
}

const statusTimeout = 10 * time.Second

// serveStatus answers until stop is called, while the proxy drains too.
func (o Options) serveStatus(ctx context.Context, s *forward.Server, authenticate bool) (status, error) {
	if o.StatusAddress == "" {
		return status{stop: func() {}}, nil
	}
	ln, err := listen(ctx, o.StatusAddress)
	if err != nil {
		return status{}, fmt.Errorf("--status-address %q: %w; give another address", o.StatusAddress, err)
	}
	server := &http.Server{Handler: s.Status(authenticate), ReadTimeout: statusTimeout, WriteTimeout: statusTimeout, MaxHeaderBytes: 16 << 10}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(ln)
	}()
	return status{address: ln.Addr().String(), stop: func() {
		_ = server.Close()
		<-done
	}}, nil
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	var c net.ListenConfig
	ln, err := c.Listen(ctx, "tcp", address)
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return nil, op.Err // the address is in the line already
	}
	return ln, err
}

// canBind sees that an address is this machine's.
func canBind(ctx context.Context, a netip.Addr) error {
	if !a.IsValid() {
		return nil
	}
	ln, err := listen(ctx, netip.AddrPortFrom(a, 0).String())
	if err != nil {
		return err
	}
	return ln.Close()
}
