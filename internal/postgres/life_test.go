package postgres_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
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

// A router whose time is over cuts what is left, and says so where a message can stand.
func TestLeaveInATransaction(t *testing.T) {
	var log lines
	server := serveScript(t, loopback(t), "R\x00\x00\x00\x08\x00\x00\x00\x00Z\x00\x00\x00\x05T")
	router, address := serve(t, postgres.Options{
		Resolver: newEndpoints(server.Addr().String()), Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	client := start(t, address, "bob.orders")
	if _, err := io.ReadFull(client, make([]byte, 15)); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	left := make(chan error, 1)
	go func() { left <- router.Leave(over) }()
	told, err := io.ReadAll(client)
	if err != nil || !strings.HasPrefix(string(told), "E") || !strings.Contains(string(told), session.AdminShutdown) {
		t.Errorf("told %q, %v", told, err)
	}
	_ = client.Close()
	if err := <-left; err != nil {
		t.Error(err)
	}
	if text := log.String(); !strings.Contains(text, "msg=drained total=1 cut=1 ") {
		t.Errorf("the log says %s", text)
	}
}

// lines are what was logged.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
