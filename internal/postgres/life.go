package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// Life is how long a router that was told to end goes on. The zero Life has the defaults.
type Life struct {
	// Grace is how long it accepts after it is not ready any more, so that whoever
	// sends it clients can notice; default 5 s.
	Grace time.Duration
	// Drain is how long sessions in which something is under way may go on, counted
	// from the same moment; default 30 s.
	Drain time.Duration
}

func (l Life) withDefaults() Life {
	if l.Grace == 0 {
		l.Grace = 5 * time.Second
	}
	if l.Drain == 0 {
		l.Drain = 30 * time.Second
	}
	return l
}

// Run serves l until ctx ends, and then goes away in order: not ready, but accepting;
// after the grace no new sessions, and idle ones end; after the drain the rest. It
// logs each step, and how many sessions were cut.
func (r *Router) Run(ctx context.Context, l net.Listener, life Life) error {
	life = life.withDefaults()
	working := context.WithoutCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- r.Serve(working, l) }()
	looking, blind := context.WithCancel(working)
	var look sync.WaitGroup
	look.Go(func() { r.cutUnreachable(looking, lookEvery, unreachableAfter) })
	defer look.Wait()
	defer blind()
	r.ready.Store(true)
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	r.ready.Store(false)
	r.options.Log.Info("going away: not ready any more, and accepting for a grace", observe.KeyGrace, life.Grace, observe.KeyTotal, len(r.roster.sessions()))
	deadline, cancel := context.WithTimeout(working, life.Drain)
	defer cancel()
	grace := time.NewTimer(life.Grace)
	defer grace.Stop()
	select {
	case err := <-served:
		return err
	case <-grace.C:
	}
	return errors.Join(r.Leave(deadline), <-served)
}

// Health answers GET /health, which says that the process lives, and GET /ready: 200
// "ready" while new sessions are welcome, else 503 "not ready: " and why, and GET /metrics.
func (r *Router) Health() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
	mux.Handle("GET /metrics", r.Metrics())
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) {
		if why := r.unready(); why != "" {
			say(w, http.StatusServiceUnavailable, "not ready: "+why)
			return
		}
		say(w, http.StatusOK, "ready")
	})
	return mux
}

// unready says why new sessions are not welcome; "" if they are.
func (r *Router) unready() string {
	if !r.ready.Load() {
		return "it starts, or goes away"
	}
	for _, waits := range r.options.Waits {
		if why := waits(); why != "" {
			return "it waits for " + why
		}
	}
	return ""
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // whoever asked may be gone
}
