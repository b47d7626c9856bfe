package xdsserve_test

import (
	"fmt"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// bytesSent sums the bytes of responses behind a mark.
func bytesSent(r *rig, mark int) int {
	n := 0
	for _, e := range r.log.since(mark) {
		n += e.Bytes
	}
	return n
}

func chain(t *testing.T, n, backendPort int) []xdsserve.Resource {
	t.Helper()
	var rs []xdsserve.Resource
	var clusters []string
	for i := range n {
		name := fmt.Sprint("c", i)
		clusters = append(clusters, name)
		rs = append(rs, cluster(t, name, backendPort)...)
	}
	return append(rs, table(t, "t", clusters...))
}

// A restarted server that publishes the same sends nothing, and no request fails.
func TestServerRestartSendsNothing(t *testing.T) {
	a, port := backend(t, "a"), freePort(t)
	published := append(chain(t, 50, a), listener(t, "l", port, "t", "s"))
	r, _ := oneEnvoy(t, xdsserve.Options{}, published...)
	l := startLoad(t, local(port))
	l.more(t, 30)
	r.stop()
	mark := r.log.mark()
	r.start(xdsserve.Options{})
	seq := r.Publish(set(published...))
	r.settle(seq, 1)
	l.more(t, 60)
	if n := bytesSent(r, mark); n > 0 {
		t.Errorf("%d bytes sent to a proxy that had everything:\n%s", n, lines(r.log.since(mark)))
	}
	if st := r.Standing(group, names(xdsserve.Routes, "t")...); st.Acknowledged != 1 {
		t.Errorf("not acknowledged: %+v", st)
	}
	l.only(t, "200 a")
}

// A proxy that connects before the first Publish keeps what it has.
func TestStartingServerTakesNothingAway(t *testing.T) {
	a, port := backend(t, "a"), freePort(t)
	published := shop(t, port, a)
	r, _ := oneEnvoy(t, xdsserve.Options{}, published...)
	l := startLoad(t, local(port))
	r.stop()
	mark := r.log.mark()
	r.start(xdsserve.Options{})
	r.log.untilEvent(mark, func(e xdsserve.Event) bool { return e.Kind == xdsserve.Connected })
	l.more(t, 100)
	r.settle(r.Publish(set(published...)), 1)
	if n := bytesSent(r, mark); n > 0 {
		t.Errorf("%d bytes sent:\n%s", n, lines(r.log.since(mark)))
	}
	l.only(t, "200 a")
}

// What changed while the server was away arrives, in safe order: the cluster
// that the proxy still uses goes only after its table moved.
func TestChangesWhileAway(t *testing.T) {
	a, b, port := backend(t, "a"), backend(t, "b"), freePort(t)
	r, _ := oneEnvoy(t, xdsserve.Options{}, shop(t, port, a)...)
	l := startLoad(t, local(port))
	r.stop()
	mark := r.log.mark()
	r.start(xdsserve.Options{})
	r.Publish(set(append(cluster(t, "b", b), table(t, "t", "b"), listener(t, "l", port, "t", "s"))...))
	r.log.untilEvent(mark, removes(xdsserve.Acknowledged, xdsserve.Cluster, "a"))
	l.more(t, 60)
	if got := ask(httpClient(t), local(port)); got != "200 b" {
		t.Errorf("%q, want 200 b", got)
	}
	l.only(t, "200 a", "200 b")
}

// An Envoy that is killed drops out of the ledger, and its successor gets everything.
func TestEnvoyKilled(t *testing.T) {
	a, port := backend(t, "a"), freePort(t)
	r, e := oneEnvoy(t, xdsserve.Options{}, shop(t, port, a)...)
	mark := r.log.mark()
	e.kill()
	r.log.untilEvent(mark, func(e xdsserve.Event) bool { return e.Kind == xdsserve.Disconnected })
	r.settle(0, 0)
	if st := r.Standing(group, names(xdsserve.Routes, "t")...); st.Total != 0 {
		t.Errorf("proxies after the kill: %+v", st)
	}
	startEnvoy(r, "envoy-0")
	r.settle(1, 1)
	if got := ask(httpClient(t), local(port)); got != "200 a" {
		t.Errorf("%q, want 200 a", got)
	}
}

// A cold Envoy gets each resource once, in as few responses as there are kinds.
func TestColdStartInBulk(t *testing.T) {
	a, port := backend(t, "a"), freePort(t)
	published := append(chain(t, 500, a), listener(t, "l", port, "t", "s"))
	r, _ := oneEnvoy(t, xdsserve.Options{}, published...)
	sent := map[xdsserve.Type]int{}
	responses := 0
	for _, e := range r.log.since(0) {
		if e.Kind == xdsserve.Sent {
			sent[e.Type] += len(e.Names)
			responses++
		}
	}
	if sent[xdsserve.Cluster] != 500 || sent[xdsserve.Endpoints] != 500 || responses != 4 {
		t.Errorf("sent in %d responses: %v", responses, sent)
	}
}
