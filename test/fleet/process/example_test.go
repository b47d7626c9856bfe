package process

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/explain"
)

// broken is a proxy that somebody else runs, or rather does not.
const broken = `---
apiVersion: egress.gatehouse.dev/v1alpha1
kind: Proxy
metadata: {name: broken, namespace: crawl}
spec:
  mode: External
  endpoint: {host: 127.0.0.1, port: 1}
  attributes: {country: de}
  healthCheck: {interval: 5s, timeout: 1s, failureThreshold: 1}
`

// example is the fleet of the manual, with a proxy that does not work.
type example struct {
	fleet                  *fleet
	admin, metrics, leases string
}

func newExample(t *testing.T) *example {
	t.Helper()
	f := newFleet(t)
	text, err := os.ReadFile("../../../examples/fleet/proxies.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.dir, "config", "all.yaml"), append(text, broken...), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(f.dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	f.startTo(t, log)
	e := &example{fleet: f}
	until(t, "the fleet says where it listens", func() bool {
		text, _ := os.ReadFile(log.Name())
		e.admin = first(`msg="fleet starts".* address=http://(\S+)`, text)
		e.metrics = first(`msg="fleet starts".* metrics=(\S+)`, text)
		e.leases = first(`msg="leasing proxies" address=(\S+)`, text)
		return e.admin != "" && e.metrics != "" && e.leases != ""
	})
	return e
}

// first is what the group of a pattern is in a text, empty where it is not there.
func first(pattern string, text []byte) string {
	if m := regexp.MustCompile(pattern).FindSubmatch(text); m != nil {
		return string(m[1])
	}
	return ""
}

// gatehouse runs a command that asks the fleet.
func (e *example) gatehouse(t *testing.T, arguments ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(os.Getenv(programs), "gatehouse"), append(arguments, "--admin-address", e.admin)...)
	cmd.Env = append(os.Environ(), "LANG=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", arguments, err, out)
	}
	return string(out)
}

func (e *example) list(t *testing.T) (l explain.List) {
	t.Helper()
	if err := json.Unmarshal([]byte(e.gatehouse(t, "fleet", "list", "-o", "json")), &l); err != nil {
		t.Fatal(err)
	}
	return l
}

// do asks by HTTP, and returns the answer.
func do(t *testing.T, method, url, body string) []byte {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= 300 {
		t.Fatalf("%s %s: %s %s %v", method, url, answer.Status, text, err)
	}
	return text
}

// TestExample: the fleet of the manual is probed and leased; a ban lets a proxy rest; and
// the commands and the metrics say so, as they say what is wrong with one that is not
// there.
func TestExample(t *testing.T) {
	e := newExample(t)
	until(t, "three proxies are Ready and one is Unhealthy", func() bool {
		phases := map[string]int{}
		for _, r := range e.list(t).Items {
			phases[r.Phase]++
		}
		return phases["Ready"] == 3 && phases["Unhealthy"] == 1
	})
	var got struct {
		LeaseID string
		Proxy   struct{ Name string }
	}
	if err := json.Unmarshal(do(t, "POST", e.leases+"/v1/leases", `{"selector":{"country":"de"},"target":"shop.example"}`), &got); err != nil {
		t.Fatal(err)
	}
	do(t, "POST", e.leases+"/v1/leases/"+got.LeaseID+"/report", `{"result":"banned"}`)

	says(t, e.gatehouse(t, "why", "proxy", "crawl/"+got.Proxy.Name, "--check"),
		"  Serving\n", "✓ probe", "offered to whoever asks for a lease, with country=de kind=datacenter", "1 lease", "cools down for shop.example until ")
	says(t, e.gatehouse(t, "why", "proxy", "crawl/broken"), "  Partial\n", "(dial: ", "not offered: its probes fail [Unhealthy]", "0 leases, with no limit")
	says(t, e.gatehouse(t, "fleet", "list"), "PROBE", "LEASES", "COOLING", "dial (")
	says(t, e.gatehouse(t, "fleet", "top", "--once"), "3 of 4 proxies offered · 1 unhealthy · 1 cooling down · 1 lease\n", "crawl/"+got.Proxy.Name, "shop.example until ")
	says(t, e.gatehouse(t, "fleet", "top", "--once", "-o", "json"), `"requests":{"granted":1,"refused":0,"failed":0}`, `"store":"memory"`)
	says(t, string(do(t, "GET", e.metrics, "")), "proxy_operator_leases_active 1\n", "proxy_operator_cooldowns 1\n", "proxy_operator_cooling_proxies 1\n",
		`proxy_operator_offers{why="Offered"} 3`, `proxy_operator_lease_requests_total{outcome="granted"} 1`, `proxy_operator_healthcheck_failures_total{proxy="crawl/broken"} `)
}

func says(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
