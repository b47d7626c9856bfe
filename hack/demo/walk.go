package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// tour is the shop being walked through.
type tour struct {
	*shop
	i      *rig.Instance
	binary string
	roots  *x509.CertPool
}

// step is one stop of the tour.
type step struct {
	name string
	walk func(*tour, context.Context) error
}

var steps = []step{
	{"serve: hosts, HTTPS, redirect, rewrite, header match, TCP", (*tour).serves},
	{"canary: about one request in ten", (*tour).canary},
	{"validate: nothing to find", (*tour).validates},
	{"edit: the next requests follow the new weights", (*tour).edits},
	{"break one object: it keeps serving, and why names field and remedy", (*tour).breaks},
	{"the others advance meanwhile", (*tour).advances},
	{"repair: it serves again", (*tour).repairs},
	{"delete: the port refuses, and why says that it was never seen", (*tour).deletes},
	{"status: every object, as an API server would hold it", (*tour).statuses},
	{"wrong usage exits 2", (*tour).misuses},
}

// walk runs the shop on free ports and asserts the tour.
func walk(ctx context.Context, binary string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	tmp, err := os.MkdirTemp("", "gatehouse-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	s, err := open(ctx, filepath.Join(tmp, "shop"), true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	i, err := rig.Start(context.WithoutCancel(ctx), rig.Options{Binary: binary, Config: []string{s.dir}, StateDir: filepath.Join(tmp, "state")})
	if err != nil {
		return err
	}
	t := &tour{shop: s, i: i, binary: binary, roots: x509.NewCertPool()}
	t.roots.AppendCertsFromPEM(s.cert.Cert)
	if err := t.all(ctx); err != nil {
		_ = i.Stop()
		return fmt.Errorf("%w\ngatehouse said:\n%s", err, i.Output())
	}
	return t.ends(ctx)
}

func (t *tour) all(ctx context.Context) error {
	start := time.Now()
	if err := t.i.WaitReady(ctx); err != nil {
		return err
	}
	report("ready", start)
	for _, s := range steps {
		start := time.Now()
		if err := s.walk(t, ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		report(s.name, start)
	}
	return nil
}

func report(name string, start time.Time) {
	fmt.Printf("ok  %-70s %6d ms\n", name, time.Since(start).Milliseconds())
}

// ends asks for a drain and looks for what should be gone.
func (t *tour) ends(ctx context.Context) error {
	start := time.Now()
	if err := t.i.Stop(); err != nil {
		return fmt.Errorf("SIGTERM must end with exit status 0: %w\n%s", err, t.i.Output())
	}
	if !strings.Contains(t.i.Output(), "ready") {
		return fmt.Errorf("it never said that it is ready:\n%s", t.i.Output())
	}
	for _, port := range []uint16{httpPort, httpsPort, tcpPort} {
		if rig.Busy(ctx, t.ports[port]) {
			return fmt.Errorf("port %d is still in use after the end", t.ports[port])
		}
	}
	report("end: drained, exit status 0, ports free", start)
	return nil
}

// get asks the shop on its HTTP port.
func (t *tour) get(ctx context.Context, path string, header ...string) (rig.Response, error) {
	r := rig.Request{Port: t.ports[httpPort], Host: host, Path: path, Header: make(http.Header)}
	for n := 0; n+1 < len(header); n += 2 {
		r.Header.Set(header[n], header[n+1])
	}
	return rig.Do(ctx, r)
}

// from fails unless a backend answered with 200.
func from(backend string, r rig.Response, err error) error {
	if err == nil && (r.Status != http.StatusOK || r.Answer.Backend != backend) {
		err = fmt.Errorf("%d from %q, want 200 from %q: %s", r.Status, r.Answer.Backend, backend, r.Body)
	}
	return err
}

// change replaces text in a file of the shop.
func (t *tour) change(name, from, to string) error {
	text, err := t.read(name)
	if err != nil {
		return err
	}
	if !strings.Contains(text, from) {
		return fmt.Errorf("%s does not contain %q", name, from)
	}
	return t.write(name, strings.ReplaceAll(text, from, to))
}

// soon waits up to five seconds for check to return nil.
func (t *tour) soon(ctx context.Context, what string, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 5*time.Second, errors.New("not within 5 s"))
	defer cancel()
	return t.i.Until(ctx, what, check)
}

// ask runs a command against the shop and fails unless it exits as wanted.
func (t *tour) ask(ctx context.Context, exit int, args ...string) (string, error) {
	r, err := t.i.Ask(ctx, args...)
	if err == nil && r.Exit != exit {
		err = fmt.Errorf("gatehouse %s exits %d, want %d:\n%s%s", strings.Join(args, " "), r.Exit, exit, r.Stdout, r.Stderr)
	}
	return r.Stdout + r.Stderr, err
}
