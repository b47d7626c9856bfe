package postgres_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/session"
)

// A router that was told to end is not ready at once, accepts for its grace, and then
// does not any more.
func TestLife(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	router := postgres.New(postgres.Options{Resolver: table(t), Log: slog.New(slog.DiscardHandler)})
	ready := func() int {
		w := httptest.NewRecorder()
		router.Health().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/ready", http.NoBody))
		return w.Code
	}
	if ready() != http.StatusServiceUnavailable {
		t.Error("ready before it runs")
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- router.Run(ctx, l, postgres.Life{Grace: time.Second, Drain: 2 * time.Second}) }()
	welcome := func() bool {
		_, err := connect(t, l.Addr().String(), "bob", "sslmode=disable")
		return sqlstate(err) == session.InvalidAuthorization
	}
	if !welcome() || ready() != http.StatusOK {
		t.Error("it runs and is not ready")
	}
	end()
	for deadline := time.Now().Add(10 * time.Second); ready() == http.StatusOK; {
		if time.Now().After(deadline) {
			t.Fatal("still ready")
		}
	}
	if !welcome() {
		t.Error("it accepts nobody in its grace")
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if welcome() {
		t.Error("it still accepts after its end")
	}
}
