package health

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/health"
)

// TestEachProbeHasItsOwnConnection, and ends it: one that is kept may work on where no new
// one would, and may end at another proxy.
func TestEachProbeHasItsOwnConnection(t *testing.T) {
	var mu sync.Mutex
	seen := map[http.ConnState]int{}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "keep-alive") // it would not be its fault
		w.WriteHeader(http.StatusNoContent)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		seen[state]++
	}
	s.Start()
	t.Cleanup(s.Close)
	q := probed(t, object("polite", s.Listener.Addr(), row{scheme: egress_v1alpha1.HTTP, url: "http://target.example/"}))
	const probes = 5
	for range probes {
		if got := health.Probe(t.Context(), q); got.Class != health.OK {
			t.Fatalf("%s: %s", got.Class, got.Message)
		}
	}
	count := func(state http.ConnState) int {
		mu.Lock()
		defer mu.Unlock()
		return seen[state]
	}
	for end := time.Now().Add(30 * time.Second); count(http.StateClosed) < probes && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if opened, closed := count(http.StateNew), count(http.StateClosed); opened != probes || closed != probes {
		t.Errorf("%d probes opened %d connections, and %d are closed", probes, opened, closed)
	}
}
