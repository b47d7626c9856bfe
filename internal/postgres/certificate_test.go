package postgres_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/tlsstore"
	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
)

// silent is where a certificate comes from that the test hands over itself.
type silent struct{}

func (silent) Name() string                               { return "Secret shop/router" }
func (silent) Origin() slog.Attr                          { return slog.String("from", "Secret shop/router") }
func (silent) Run(ctx context.Context, _ *tlsstore.Store) { <-ctx.Done() }

// A router without a certificate serves those who need none, and says what it lacks.
func TestCertificateComesLater(t *testing.T) {
	store := tlsstore.New(silent{}, tlsstore.Options{Log: slog.New(slog.DiscardHandler)})
	router, address := serve(t, postgres.Options{Resolver: table(t, "orders=127.0.0.1:1"), TLS: store, DialTimeout: time.Second, Waits: []func() string{store.Waits}})
	end := time.Now().Add(240 * time.Hour).Truncate(time.Second)
	pair, err := tlsutil.SelfSigned(tlsutil.Validity{NotBefore: time.Now(), NotAfter: end}, "localhost")
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name             string
		does             func()
		served           bool
		refused, expires float64
	}{
		{"at first", func() {}, false, 0, 0},
		{"with nonsense", func() { store.Refuse(errors.New("nonsense")) }, false, 1, 0},
		{"with a certificate", func() { err = store.Serve(pair) }, true, 0, float64(end.Unix())},
		{"with nonsense again", func() { store.Refuse(errors.New("nonsense")) }, true, 1, float64(end.Unix())},
	} {
		if step.does(); err != nil {
			t.Fatal(err)
		}
		_, inClear := connect(t, address, "postgres.nowhere", "sslmode=disable")
		_, inTLS := connect(t, address, "postgres.nowhere", "sslmode=require")
		if sqlstate(inClear) == "" || (sqlstate(inTLS) != "") != step.served {
			t.Errorf("%s: in clear %v, in TLS %v; want an answer in TLS: %v", step.name, inClear, inTLS, step.served)
		}
		now := page(t, router)
		if refused, expires := now["certificate_refused"], now["certificate_expiry_timestamp_seconds"]; refused != step.refused || expires != step.expires {
			t.Errorf("%s: refused %v, expires %v; want %v, %v", step.name, refused, expires, step.refused, step.expires)
		}
	}
}
