package load_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

var errAsked = errors.New("somebody asked for the end")

// newCancel returns a context that ends with errAsked.
func newCancel(t *testing.T) (context.Context, func()) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(nil) })
	return ctx, func() { cancel(errAsked) }
}

// TestConnectionsTakeTurns: a quarter of the requests comes over connections of their
// own, the others over kept ones, each of which is used.
func TestConnectionsTakeTurns(t *testing.T) {
	var mu sync.Mutex
	fresh, kept := make(map[string]int), make(map[string]int)
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Close {
			fresh[r.RemoteAddr]++
		} else {
			kept[r.RemoteAddr]++
		}
		backend(w, r)
	})
	o := twenty(address)
	o.Kept, o.FreshEvery, o.Rate, o.Length = 3, 4, 100, 400*ms
	run(t, o)

	mu.Lock()
	defer mu.Unlock()
	sum := 0
	for _, n := range kept {
		sum += n
	}
	if len(fresh) != 10 || sum != 30 {
		t.Errorf("%d fresh connections, %d requests over kept ones", len(fresh), sum)
	}
	// A request that met only busy connections has opened one more.
	if len(kept) < 3 || len(kept) > 15 {
		t.Errorf("kept connections carried %v", kept)
	}
}

// TestConnectionsThatTheServerGivesUp: it says that an answer is the last one, as old
// workers do. No request is lost.
func TestConnectionsThatTheServerGivesUp(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		backend(w, r)
	})
	if diff := cmp.Diff(map[lab.Outcome]int{lab.Answered: 20}, count(run(t, twenty(address)))); diff != "" {
		t.Error(diff)
	}
}
