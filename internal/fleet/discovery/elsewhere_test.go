package discovery_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/discovery"
)

// TestElsewhere: another process is asked for those alone who have the token, for no more than
// is read here, and the log tells of it.
func TestElsewhere(t *testing.T) {
	asked, leads := 0, start(t)
	w := start(t, func(_ *world, o *discovery.Options) {
		o.Elsewhere = func(*http.Request) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				leads.ServeHTTP(w, r)
			})
		}
	})

	w.ask(t, "POST", "/v1/leases", `{}`, "Authorization: Bearer wrong").want(t, 401, "error", "unauthorized")
	w.ask(t, "POST", "/v1/leases", strings.Repeat(" ", discovery.MaxBody+1)).want(t, 413, "error", "too_large")
	if asked != 0 {
		t.Errorf("another process was asked %d times", asked)
	}
	w.ask(t, "POST", "/v1/leases?wait=1s", `{}`).want(t, 201)
	if asked != 1 || !strings.Contains(w.log.String(), "status=201") {
		t.Errorf("asked %d times; the log has %s", asked, w.log)
	}
}

// TestElsewhereWhoWaits is let go when this process ends.
func TestElsewhereWhoWaits(t *testing.T) {
	var w *world
	w = start(t, func(_ *world, o *discovery.Options) {
		o.Elsewhere = func(*http.Request) http.Handler {
			return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				w.Stop()
				<-r.Context().Done()
				rw.WriteHeader(http.StatusServiceUnavailable)
			})
		}
	})

	got := httptest.NewRecorder()
	w.ServeHTTP(got, w.request(t, "POST", "/v1/leases?wait=30s", `{}`))
	if got.Code != http.StatusServiceUnavailable {
		t.Errorf("status %d", got.Code)
	}
}
