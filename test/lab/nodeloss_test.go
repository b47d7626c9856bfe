package lab

import (
	"net/http"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// One backend is killed and later another vanishes, each before anybody knows.
const nodeLoss = `
reload: {interval: 1s, batch: 100ms}
steps:
- add: [a, b, c, d]
- {at: 1500ms, node-loss: {backends: a, end: kill, notice: 1s}}
- {at: 3s, node-loss: {backends: b, end: vanish, notice: 1500ms}}
`

// Nothing can tell what nobody knows: until the notice every proxy is wrong, and clients
// meet both errors, at once or as silence.
func TestNodeLoss(t *testing.T) {
	t.Parallel()
	r := playScript(t, nodeLoss, "6s", "model:stream,nginx,nginx:retries=off,haproxy-runtime:retries=off,envoy-xds,gatehouse")
	if got := named(t, r, "model:stream").Wrong.StaleSeconds; got != 2.5 {
		t.Errorf("the plain stream is stale for %v backend-seconds, want the notices, 2.5", got)
	}
	killed, vanished := event(t, r, lab.Lose, "a").At, event(t, r, lab.Lose, "b").At
	for _, p := range r.Proxies[1:] {
		wrongUntilTheNotice(t, r, p)
		if inVain(p, "a", true) == 0 || inVain(p, "b", false) == 0 || inVain(p, "b", true) > 0 {
			t.Errorf("%s tried in vain: %v; want refusals of a, silence of b and nothing else of it", p.Name, p.Requests.TriesInVain)
		}
		// Those under way when it vanishes were due up to a timeout before.
		silence := lab.Span{From: vanished - lab.Moment(giveUp), To: r.Timeline.Length}
		if n := failures(p, silence, func(f lab.Request) bool { return f.Outcome == lab.TimedOut }); n == 0 {
			t.Errorf("%s: nobody waited in vain for the vanished backend: %v", p.Name, p.Requests.FailedBy)
		}
	}
	refusal := lab.Span{From: killed, To: vanished}
	for name, code := range map[string]int{
		"nginx:retries=off":           http.StatusBadGateway,
		"haproxy-runtime:retries=off": http.StatusServiceUnavailable,
		"envoy-xds":                   http.StatusServiceUnavailable,
	} {
		p := named(t, r, name)
		if n := failures(p, refusal, func(f lab.Request) bool { return f.Code == code }); n == 0 || p.Requests.RetriedAway > 0 {
			t.Errorf("%s: %d requests failed with %d for the killed backend, %d were retried away; want some and none", name, n, code, p.Requests.RetriedAway)
		}
	}
	// Gatehouse does not send a request again that was on its way when its backend died.
	for _, name := range []string{"nginx", "gatehouse"} {
		p := named(t, r, name)
		n := failures(p, refusal, func(f lab.Request) bool { return f.Outcome == lab.Status })
		if p.Requests.RetriedAway == 0 || n > 0 && name == "nginx" {
			t.Errorf("%s: %d requests failed at once, %d were retried away; want some of these", name, n, p.Requests.RetriedAway)
		}
	}
}

// wrongUntilTheNotice checks when a proxy believed in what was lost.
func wrongUntilTheNotice(t *testing.T, r lab.Result, p lab.Proxy) {
	t.Helper()
	for _, backend := range []string{"a", "b"} {
		lost, told := event(t, r, lab.Lose, backend).At, event(t, r, lab.Remove, backend).At
		if p.Model == lab.ModelReload {
			told += r.Timeline.Reload.Batch
		}
		stale := spansOf(p.Wrong.Stale, backend)
		if len(stale) == 0 || stale[0].From < lost || stale[0].From > told || stale[0].To < told {
			t.Errorf("%s wrongly believes in %s during %v, want from about %v to %v at least", p.Name, backend, stale, time.Duration(lost), time.Duration(told))
			continue
		}
		if last := stale[len(stale)-1].To; last >= r.Timeline.Length && p.Model == lab.ModelStream {
			t.Errorf("%s still believes in %s at the end", p.Name, backend)
		}
	}
}

func spansOf(all []lab.BackendSpan, backend string) (spans []lab.Span) {
	for _, s := range all {
		if s.Backend == backend {
			spans = append(spans, s.Span)
		}
	}
	return spans
}
