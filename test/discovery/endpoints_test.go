package discovery_test

import (
	"testing"

	"github.com/gatehouse-proxy/gatehouse/test/cluster"
)

const adminShutdown = "57P01"

// TestEndpoints has two servers for tests that need a namespace each.
func TestEndpoints(t *testing.T) {
	c := cluster.Shared(t)
	servers := newLab(t, c)
	one, two := servers.server(t), servers.server(t)
	for _, test := range []struct {
		name string
		run  func(t *testing.T, l lab, one, two server)
	}{
		{"sessions go to endpoints", sessionsGoToEndpoints},
		{"an endpoint leaves", endpointLeaves},
		{"one that is not ready keeps its sessions", notReadyKeepsSessions},
		{"a client is held until one is ready", clientIsHeld},
		{"a pod goes", podGoes},
		{"of two Services the older one serves", conflict},
		{"a Service leads out of the cluster", externalName},
		{"the API is asked little", asksTheAPILittle},
		{"a Service is in another namespace", namespaces},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newLab(t, c), one, two) })
	}
}

func sessionsGoToEndpoints(t *testing.T, l lab, plain, pooler server) {
	t.Helper()
	l.service(t, "db")
	l.slice(t, "db-1", "db", plain.ip)
	r := l.router(t).ready(t)
	if port := at(t, r.session(t, "postgres.orders")); port != plain.Port {
		t.Errorf("at port %d, want %d", port, plain.Port)
	}
	l.service(t, "pooler", "pooled", "true", "destination-port", "5432") // while it runs
	l.slice(t, "pooler-1", "pooler", pooler.ip)
	r.goesTo(t, "postgres.orders.pool", pooler)
	if got := r.psql(t, "postgres.orders.pool", "select current_user"); got != "postgres" {
		t.Errorf("psql says %q", got)
	}
	if _, err := r.connect(t, "postgres.nowhere"); sqlstate(err) != "08001" {
		t.Errorf("an unknown deployment: %v", err)
	}
}

// When an endpoint leaves, its sessions end at once, whatever they do, and new ones go
// to the next.
func endpointLeaves(t *testing.T, l lab, old, next server) {
	t.Helper()
	l.service(t, "db")
	l.slice(t, "db-1", "db", old.ip)
	r := l.router(t).ready(t)
	conn := r.session(t, "postgres.orders")
	if _, err := conn.Exec(t.Context(), "begin"); err != nil {
		t.Fatal(err)
	}
	l.slice(t, "db-1", "db", next.ip)
	until(t, "the session ends with 57P01", func() bool {
		_, err := conn.Exec(t.Context(), "select 1")
		return sqlstate(err) == adminShutdown
	})
	if port := at(t, r.session(t, "postgres.orders")); port != next.Port {
		t.Errorf("a new session is at port %d, want %d", port, next.Port)
	}
}

// An endpoint that is not ready gets no new sessions, and keeps those that it has: a
// flapping probe cuts nobody.
func notReadyKeepsSessions(t *testing.T, l lab, flapping, other server) {
	t.Helper()
	l.service(t, "db")
	l.slice(t, "db-1", "db", flapping.ip)
	r := l.router(t).ready(t)
	conn := r.session(t, "postgres.orders")
	now := sliceOf("db-1", "db", flapping.ip, other.ip)
	now.Endpoints[0].Conditions.Ready = new(false)
	l.apply(t, now)
	r.goesTo(t, "postgres.orders", other)
	if port := at(t, conn); port != flapping.Port {
		t.Errorf("the session is at port %d, want %d", port, flapping.Port)
	}
	l.slice(t, "db-1", "db", flapping.ip)
	r.goesTo(t, "postgres.orders", flapping)
	if port := at(t, conn); port != flapping.Port {
		t.Errorf("the session is at port %d after its endpoint is ready again", port)
	}
}

// A client that comes while no endpoint is ready is held, and served by the first that is.
func clientIsHeld(t *testing.T, l lab, s, _ server) {
	t.Helper()
	l.service(t, "db")
	l.slice(t, "db-1", "db")
	r := l.router(t, "--dial-timeout-seconds=60").ready(t)
	started, served := make(chan struct{}), make(chan int, 1)
	go func() {
		close(started)
		conn, err := r.connect(t, "postgres.orders")
		if err != nil {
			t.Error(err)
			served <- 0
			return
		}
		served <- at(t, conn)
	}()
	<-started
	l.slice(t, "db-1", "db", s.ip)
	if port := <-served; port != s.Port {
		t.Errorf("served by port %d, want %d", port, s.Port)
	}
}
