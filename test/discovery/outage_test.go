package discovery_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatehouse-proxy/gatehouse/test/cluster"
)

// What was found stays in use while the API is away: sessions go on, and new ones come.
// A router that starts in that time is not ready, says why, and becomes so by itself;
// then everybody knows what has changed. An API that hangs does not hold anybody up.
func TestOutage(t *testing.T) {
	l := newLab(t, cluster.Start(t))
	old, next := l.server(t), l.server(t)
	l.service(t, "db")
	l.slice(t, "db-1", "db", old.ip)
	r := l.router(t).ready(t)
	conn := r.session(t, "postgres.orders")

	l.StopAPIServer(t)
	until(t, "the router says that the API is away", func() bool { return strings.Contains(r.Log.String(), "the Kubernetes API does not answer") })
	if status, why := r.get(t, "/ready"); status != http.StatusOK {
		t.Errorf("the outage made it not ready: %s", why)
	}
	const metric = `gatehouse_postgres_discovery_problems{reason="APIUnavailable"} 1`
	if _, metrics := r.get(t, "/metrics"); !strings.Contains(metrics, metric) {
		t.Errorf("the metrics lack %s", metric)
	}
	if port := at(t, r.session(t, "postgres.orders")); port != old.Port {
		t.Errorf("a new session is at port %d, want %d", port, old.Port)
	}
	second := l.router(t, "--dial-timeout-seconds=1")
	until(t, "a router that starts says why it is not ready", func() bool {
		status, why := second.get(t, "/ready")
		return status == http.StatusServiceUnavailable && strings.Contains(why, "the first list of Services in namespace "+l.ns) && strings.Contains(why, "connection re")
	})
	if _, err := second.connect(t, "postgres.orders"); sqlstate(err) != "57P03" {
		t.Errorf("it says that the deployment is unknown, before it knows any: %v", err)
	}

	l.StartAPIServer(t)
	second.ready(t)
	until(t, "the router says that the API is back", func() bool { return strings.Contains(r.Log.String(), "the Kubernetes API answers again") })
	if port := at(t, conn); port != old.Port {
		t.Errorf("the session is at port %d after the outage, want %d", port, old.Port)
	}
	l.slice(t, "db-1", "db", next.ip)
	for _, r := range []router{r, second} {
		r.goesTo(t, "postgres.orders", next)
	}
	until(t, "the session at the endpoint that left ends", func() bool { return at(t, conn) == 0 })
	l.FreezeAPIServer(t) // the watch lives, and tells nothing
	conn = r.session(t, "postgres.orders")
	l.ThawAPIServer(t)
	if err := l.Client().CoreV1().Services(l.ns).Delete(t.Context(), "db", meta_v1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(second.Log.String()) {
		if !json.Valid([]byte(line)) && !strings.HasPrefix(line, "warning: ") {
			t.Errorf("the log has a line that is not ours: %s", line)
		}
	}
	until(t, "the session of a Service that was deleted ends", func() bool { return at(t, conn) == 0 })
	until(t, "its deployment is unknown", func() bool {
		_, err := r.connect(t, "postgres.orders")
		return sqlstate(err) == "08001"
	})
}
