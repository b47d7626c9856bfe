package lab

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// The default script on all models and all real proxies: what --check asserts, and
// what a stale window costs.
func TestDefaultScript(t *testing.T) {
	length := duration(t)
	before := descendants(t)
	p := prepare(t, length, "--duration", length.String(), "--check", "-o", "json")
	if code := p.code(t); code != 0 {
		t.Errorf("exit code %d: %s", code, p.err.String())
	}
	r := p.result(t)
	keep(t, p)
	if want := 12; len(r.Proxies) != want {
		t.Fatalf("%d proxies, want %d", len(r.Proxies), want)
	}
	for _, proxy := range r.Proxies {
		counted(t, r, proxy)
	}
	// The script removes a backend long before the reload: meanwhile a proxy that reloads
	// sends requests to the dead. nginx leaves a dead server alone for ten seconds, and
	// hides its tries behind others; HAProxy tries the same one again, and fails.
	for _, name := range []string{"nginx", "nginx:retries=off", "haproxy-reload", "haproxy-reload:retries=off"} {
		if q := named(t, r, name).Requests; q.InVain == 0 {
			t.Errorf("%s tried no dead backend", name)
		}
	}
	if q := named(t, r, "nginx").Requests; q.RetriedAway == 0 || failedWith(q, http.StatusBadGateway) > 0 {
		t.Errorf("nginx retried %d requests away and failed %d, want some and none", q.RetriedAway, failedWith(q, http.StatusBadGateway))
	}
	if q := named(t, r, "nginx:retries=off").Requests; q.RetriedAway > 0 || failedWith(q, http.StatusBadGateway) == 0 {
		t.Errorf("nginx without retries retried %d requests away and failed %d, want none and some", q.RetriedAway, failedWith(q, http.StatusBadGateway))
	}
	gone(t, before)
}

// failedWith counts the failed requests with that status.
func failedWith(q *lab.Requests, code int) int {
	n := 0
	for _, f := range q.Failures {
		if f.Code == code {
			n++
		}
	}
	return n
}

// keep saves the run where $GATEHOUSE_LAB_RESULT says, for "--from".
func keep(t *testing.T, p *play) {
	t.Helper()
	if path := os.Getenv("GATEHOUSE_LAB_RESULT"); path != "" {
		if err := os.WriteFile(path, []byte(p.out.String()), 0o600); err != nil {
			t.Error(err)
		}
	}
}

// counted checks, apart from the product's own check, that every request of a real
// proxy is accounted for exactly once.
func counted(t *testing.T, r lab.Result, p lab.Proxy) {
	t.Helper()
	if strings.HasPrefix(p.Name, "model:") {
		if p.Requests != nil {
			t.Errorf("%s has requests", p.Name)
		}
		return
	}
	q := p.Requests
	if q == nil {
		t.Fatalf("%s has no requests: %s%s", p.Name, p.Skipped, p.Failed)
	}
	accounted(t, r, p)
	if len(p.Truth) != 3 {
		t.Errorf("%s: %d backends were routable, want 3", p.Name, len(p.Truth))
	}
}

// accounted does so for a real proxy that ran.
func accounted(t *testing.T, r lab.Result, p lab.Proxy) {
	t.Helper()
	q := p.Requests
	due := int(float64(r.Load.Rate) * r.Timeline.Length.Seconds())
	if sum := q.Answered + q.AnsweredByRemoved + q.Failed + q.NoBackend + q.Unsent; sum != q.Due || q.Due != due {
		t.Errorf("%s: %d requests accounted for, %d counted as due, want %d", p.Name, sum, q.Due, due)
	}
	if p.Updates == 0 || p.Cost == nil || p.Cost.CPU <= 0 || p.Cost.Memory <= 0 {
		t.Errorf("%s: %d updates, cost %+v", p.Name, p.Updates, p.Cost)
	}
}

// The two plain models print the original experiment's table, byte for byte, and the
// page about the laboratory shows it.
func TestSeed(t *testing.T) {
	want, err := os.ReadFile("../../internal/lab/report/testdata/seed.txt")
	if err != nil {
		t.Fatal(err)
	}
	p := prepare(t, 0, "--proxies", "model:stream,model:reload", "-o", "seed")
	if code := p.code(t); code != 0 || p.err.String() != "" {
		t.Errorf("exit code %d: %s", code, p.err.String())
	}
	if got := p.out.String(); got != string(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	page, err := os.ReadFile("../../docs/lab.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), string(want)) {
		t.Error("docs/lab.md shows another table")
	}
}
