package lab

import (
	"net/http"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// Two roll-outs beside a backend that stays: in the first, old pods serve on for longer
// than any reload takes, in the second not at all.
const rollout = `
reload: {interval: 1s, batch: 300ms}
steps:
- add: base
- scale: {name: blue, to: 2}
- {at: 1s, rolling-update: {from: blue, to: green, pods: 2, ready: 500ms, drain: 2500ms}}
- {at: 5s, rolling-update: {from: green, to: red, pods: 2, ready: 500ms}}
`

// A grace that is longer than the reload interval costs no request; none costs some, or
// tries that a proxy hides.
func TestRollingUpdate(t *testing.T) {
	t.Parallel()
	r := playScript(t, rollout, "8s", "nginx,nginx:retries=off,haproxy-runtime,envoy-xds,gatehouse", "--check")
	first, second := event(t, r, lab.Remove, "blue-1").At, event(t, r, lab.Remove, "green-1").At
	// A reload of nginx may also close a connection just as a request goes out on it.
	early := func(f lab.Request) bool { return f.Outcome == lab.Status && f.Done < second }
	for _, p := range r.Proxies {
		if n := failures(p, lab.Span{From: first, To: second}, early); n > 0 {
			t.Errorf("%s: %d requests failed in the roll-out with grace: %v", p.Name, n, p.Requests.Failures)
		}
		for _, d := range p.Requests.TriesInVain {
			if d.At < second {
				t.Errorf("%s tried %s in vain at %v, in spite of its grace", p.Name, d.Backend, d.At.Seconds())
			}
		}
		if len(p.Truth) != 7 {
			t.Errorf("%s: %d backends were routable, want 7", p.Name, len(p.Truth))
		}
	}
	whole := lab.Span{To: r.Timeline.Length}
	badGateway := func(f lab.Request) bool { return f.Code == http.StatusBadGateway }
	hiding, plain := named(t, r, "nginx"), named(t, r, "nginx:retries=off")
	for _, p := range []lab.Proxy{hiding, plain} {
		if p.Requests.AnsweredByRemoved == 0 || p.Requests.InVain == 0 {
			t.Errorf("%s: %d answers of removed pods, %d tries in vain; want some of both", p.Name, p.Requests.AnsweredByRemoved, p.Requests.InVain)
		}
	}
	if n := failures(hiding, whole, badGateway); n > 0 || hiding.Requests.RetriedAway == 0 {
		t.Errorf("nginx: %d requests failed for dead pods, %d were retried away; want none and some", n, hiding.Requests.RetriedAway)
	}
	if n := failures(plain, lab.Span{From: second, To: whole.To}, badGateway); n == 0 || plain.Requests.RetriedAway > 0 {
		t.Errorf("nginx without retries: %d requests failed for dead pods, %d were retried away; want some and none", n, plain.Requests.RetriedAway)
	}
}
