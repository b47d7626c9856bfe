package postgres_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres"
	pgtest "github.com/gatehouse-proxy/gatehouse/test/postgres"
)

// page is what a router's /metrics says, by series.
func page(t *testing.T, router *postgres.Router) map[string]float64 {
	t.Helper()
	w := httptest.NewRecorder()
	router.Health().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	out := map[string]float64{}
	for line := range strings.Lines(w.Body.String()) {
		series, value, found := strings.CutLast(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseFloat(value, 64); found && err == nil && !strings.HasPrefix(line, "#") {
			out[strings.TrimPrefix(series, "gatehouse_postgres_")] = n
		}
	}
	return out
}

// What is counted of sessions that go well, go on, and are refused.
func TestMetrics(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{})
	router, address := serve(t, postgres.Options{
		Resolver: table(t, "orders="+server.Address), Problems: func() map[string]int { return map[string]int{"DeploymentConflict": 2} },
	})
	for _, said := range []string{"", "half"} { // a port check, and somebody who gives up
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, said)
		_ = c.Close()
	}
	conn, err := connect(t, address, "postgres.orders", "sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	before := page(t, router)
	if _, err := conn.Exec(t.Context(), "select repeat('x', 100000)"); err != nil {
		t.Fatal(err)
	}
	for _, login := range []string{"postgres.nowhere", "bare", "x;drop.table"} {
		_, _ = connect(t, address, login, "sslmode=disable")
	}
	_, _ = connect(t, address, "postgres.orders", "sslmode=disable password=wrong")
	eventually(t, "the last ones have ended", func() bool {
		p := page(t, router)
		return p[`connects_total{deployment="orders",outcome="server_refused",sqlstate="28P01"}`] == 1 &&
			p[`connects_total{deployment="",outcome="abandoned",sqlstate=""}`] == 1 && p[`connections{state="admitted"}`] == 1
	})
	for series, want := range map[string]float64{
		`connects_total{deployment="",outcome="abandoned",sqlstate=""}`:    1,
		`connects_total{deployment="orders",outcome="ready",sqlstate=""}`:  1,
		`connects_total{deployment="",outcome="refused",sqlstate="08001"}`: 2,
		`connects_total{deployment="",outcome="refused",sqlstate="28000"}`: 1,
		`connect_seconds_count{phase="all"}`:                               1,
		`connect_seconds_count{phase="login"}`:                             1,
		`connect_seconds_count{phase="dial"}`:                              2,
		`sessions{deployment="orders"}`:                                    1,
		`auth_failures_total{deployment="orders"}`:                         1,
		`discovery_problems{reason="DeploymentConflict"}`:                  2,
		`deployments`:                   1,
		`held_sessions`:                 0,
		`connections{state="admitted"}`: 1,
	} {
		if got, found := page(t, router)[series]; !found || got != want {
			t.Errorf("%s is %v, want %v", series, got, want)
		}
	}
	const carried = `bytes_total{deployment="orders",from="server"}`
	if after := page(t, router); after[carried]-before[carried] < 100_000 {
		t.Errorf("a session that goes on carried %v bytes", after[carried]-before[carried])
	}
	total := page(t, router)[carried]
	_ = conn.Close(context.WithoutCancel(t.Context()))
	eventually(t, "the session is over", func() bool { return page(t, router)[`sessions{deployment="orders"}`] == 0 })
	if n := page(t, router)[`sessions_ended_total{by="client",deployment="orders"}`]; n == 0 {
		t.Error("a client that said goodbye did not end its session")
	}
	if after := page(t, router)[carried]; after < total || after > total+1000 {
		t.Errorf("%v bytes become %v when the session ends", total, after)
	}
}

// However many deployments clients ask for, series are made for those there are, and not
// for too many of these.
func TestSeriesAreBounded(t *testing.T) {
	server := serveScript(t, loopback(t), loggedIn)
	var all []string
	for i := range 1010 {
		all = append(all, fmt.Sprintf("d%d=%s", i, server.Addr()))
	}
	router, address := serve(t, postgres.Options{Resolver: table(t, all...)})
	for i := range 1010 {
		for _, login := range []string{"bob.d%d", "bob.no%d"} {
			c, _ := from(t, address, here, fmt.Sprintf(login, i))
			_ = c.Close()
		}
	}
	deployment := regexp.MustCompile(`deployment="([^"]*)"`)
	seen := map[string]bool{}
	for series := range page(t, router) {
		if m := deployment.FindStringSubmatch(series); m != nil {
			seen[m[1]] = true
		}
	}
	if len(seen) != 1002 || !seen[""] || !seen["other"] {
		t.Errorf("%d deployments are labels", len(seen))
	}
}

// Every metric of the router is served under its name and in the reference.
func TestMetricsAreDocumented(t *testing.T) {
	metrics := observe.NewRouterMetrics()
	router := postgres.New(postgres.Options{Resolver: table(t), Metrics: metrics})
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	router.Metrics().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	text, err := io.ReadAll(w.Body)
	if err != nil || !strings.Contains(string(text), "gatehouse_postgres_ready 0\n") {
		t.Errorf("%s, %v", text, err)
	}
	for _, f := range families {
		name := f.GetName()
		documented := slices.ContainsFunc(metrics.Documented(), func(m observe.Metric) bool { return m.Name == name })
		if strings.HasPrefix(name, "gatehouse_") && !documented {
			t.Errorf("%s is not documented", name)
		}
	}
}
