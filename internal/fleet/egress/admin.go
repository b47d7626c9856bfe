package egress

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/egress/session"
)

// Sessions is the answer of /v1/sessions.
type Sessions struct {
	Sessions []session.Session `json:"sessions"`
	// Leases are all that are held, also those of connections without a session.
	Leases int `json:"leases"`
}

// Admin answers /healthz, /readyz and /v1/sessions, without a secret.
func (s *Server) Admin() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := s.Ready(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	})
	mux.HandleFunc("GET /v1/sessions", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, leases := s.Kept()
		_ = json.NewEncoder(w).Encode(Sessions{s.Sessions(), leases})
	})
	return mux
}

// reached remembers that the lease API has answered.
type reached struct{ once atomic.Bool }

// readyTime bounds the question whether the lease API is there.
const readyTime = 2 * time.Second

// Ready says whether clients are served: from the first answer of the lease API until the
// super-proxy goes away. A lease API that is away later is told to each client: sessions
// that have a lease go on without it.
func (s *Server) Ready(ctx context.Context) error {
	if s.Counts().Draining {
		return errors.New("draining")
	}
	if s.reached.once.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	url := strings.TrimSuffix(s.Config.Client.BaseURL, "/") + "/healthz"
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := s.Config.Client.HTTPClient.Do(r)
	if err != nil {
		return fmt.Errorf("the lease API does not answer: %w", err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the lease API answers %s to /healthz", resp.Status)
	}
	s.reached.once.Store(true)
	return nil
}
