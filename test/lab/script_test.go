package lab

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// giveUp is when the clients of these scripts give up.
const giveUp = time.Second

// playScript plays a script of a test, and checks what holds for every proxy and every script.
func playScript(t *testing.T, text, length, proxies string, more ...string) lab.Result {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	takes, err := time.ParseDuration(length)
	if err != nil {
		t.Fatal(err)
	}
	p := prepare(t, takes, append([]string{
		"--script", path, "--duration", length, "--timeout", giveUp.String(), "--proxies", proxies, "-o", "json",
	}, more...)...)
	if code := p.code(t); code != 0 {
		t.Errorf("exit code %d: %s", code, p.err.String())
	}
	r := p.result(t)
	for _, proxy := range r.Proxies {
		if proxy.Requests != nil {
			accounted(t, r, proxy)
			plausible(t, proxy.Name, *proxy.Requests)
		}
	}
	return r
}

// plausible checks what is told of single requests and tries against the counts.
func plausible(t *testing.T, name string, q lab.Requests) {
	t.Helper()
	by := map[lab.Outcome]int{}
	seen := map[uint64]bool{}
	for _, f := range q.Failures {
		by[f.Outcome]++
		if seen[f.ID] {
			t.Errorf("%s: request %d failed twice", name, f.ID)
		}
		seen[f.ID] = true
		if f.Outcome == lab.TimedOut && f.Done-f.Due < lab.Moment(giveUp-time.Millisecond) {
			t.Errorf("%s: request %d was given up after %v", name, f.ID, time.Duration(f.Done-f.Due))
		}
	}
	if len(q.Failures) != q.Failed || len(q.TriesInVain) != q.InVain {
		t.Errorf("%s: %d failures and %d tries are listed of %d and %d", name, len(q.Failures), len(q.TriesInVain), q.Failed, q.InVain)
	}
	for outcome, n := range q.FailedBy {
		if by[outcome] != n {
			t.Errorf("%s: %d failures by %s are listed, %d counted", name, by[outcome], outcome, n)
		}
	}
}

// event returns the first event of that kind of a backend.
func event(t *testing.T, r lab.Result, kind lab.Kind, backend string) lab.Event {
	t.Helper()
	for _, e := range r.Timeline.Events {
		if e.Kind == kind && e.Backend == backend {
			return e
		}
	}
	t.Fatalf("the script has no %s %s", kind, backend)
	return lab.Event{}
}

// failures counts the failed requests that were due in a span, and of which holds.
func failures(p lab.Proxy, due lab.Span, holds func(lab.Request) bool) int {
	n := 0
	for _, f := range p.Requests.Failures {
		if due.Contains(f.Due) && holds(f) {
			n++
		}
	}
	return n
}

// inVain counts the tries to reach a backend that were refused, or met silence.
func inVain(p lab.Proxy, backend string, refused bool) int {
	n := 0
	for _, d := range p.Requests.TriesInVain {
		if d.Backend == backend && d.Refused == refused {
			n++
		}
	}
	return n
}
