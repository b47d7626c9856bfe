package tlsstore

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"testing"
)

// empty is a source that says nothing by itself.
type empty struct{}

func (empty) Name() string                      { return "Secret shop/router" }
func (empty) Origin() slog.Attr                 { return slog.String("from", "Secret shop/router") }
func (empty) Run(ctx context.Context, _ *Store) { <-ctx.Done() }

func TestNoCertificateAtFirst(t *testing.T) {
	var log lines
	s := New(empty{}, log.options())
	client := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{ALPN}}
	for name, config := range map[string]*tls.Config{"asked for": s.Config(), "direct": s.DirectConfig()} {
		if _, server, client := shake(t, config, client); !errors.Is(server, ErrNoCertificate) || client == nil {
			t.Errorf("%s: server: %v, client: %v; want ErrNoCertificate", name, server, client)
		}
	}
	steps := []struct {
		does  func()
		waits string
	}{
		{func() {}, "the certificate in Secret shop/router: it was not read yet"},
		{func() { s.Lack(errors.New("it does not exist")) }, "the certificate in Secret shop/router: it does not exist"},
		{func() { s.Lack(errors.New("it does not exist")) }, "the certificate in Secret shop/router: it does not exist"},
		{func() { s.Refuse(errors.New("it has no tls.crt")) }, "the certificate in Secret shop/router: it has no tls.crt"},
		{s.Warn, "the certificate in Secret shop/router: it has no tls.crt"},
		{func() {
			if err := s.Serve(newPair(t, lifetime)); err != nil {
				t.Error(err)
			}
		}, ""},
		{func() { s.Lack(errors.New("it was deleted")) }, ""},
	}
	for i, step := range steps {
		if step.does(); s.Waits() != step.waits {
			t.Errorf("step %d: waits for %q, want %q", i, s.Waits(), step.waits)
		}
	}
	if _, server, client := shake(t, s.Config(), client); server != nil || client != nil {
		t.Errorf("then: server: %v, client: %v", server, client)
	}
	for text, times := range map[string]int{
		"and none serves yet": 2, "the previous one serves on": 1, "expires soon": 0, "has expired": 0, "level=ERROR": 1,
	} {
		if n := len(log.with(text)); n != times {
			t.Errorf("%q is logged %d times, want %d", text, n, times)
		}
	}
	if got := s.Status(); got.Loads != 1 || got.Refusals != 1 || got.Refused != nil || got.Lacking == nil {
		t.Errorf("status %+v", got)
	}
}
