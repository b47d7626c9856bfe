package xdsserve_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// cpu is what this process has used so far, the server with it and Envoy without.
func cpu(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// An Envoy with 40,000 scopes that connects to a restarted server lists them all in
// one request, larger than gRPC takes by itself, and is sent nothing.
func TestReconnectWithManyScopes(t *testing.T) {
	const n = 40_000
	published := append(cluster(t, "a", freePort(t)), rest(t), scopedListener(t, "l", freePort(t)))
	listed := 0
	for i := range n {
		s := scope(t, fmt.Sprintf("%0100d", i), 204)
		published = append(published, s)
		listed += len(s.Name.Name) + len(s.Version)
	}
	if listed < 4<<20 {
		t.Fatalf("%d bytes are no large request", listed)
	}
	r := scopedRig(t)
	r.log.patience = 5 * patience // Envoy takes seconds for so many, on an idle machine
	first := r.Publish(set(published...))
	startEnvoy(r, "envoy-0")
	r.settle(first, 1)
	r.stop()
	mark := r.log.mark()
	r.start(xdsserve.Options{})
	seq := r.Publish(set(published...))
	before, began := cpu(t), time.Now()
	r.settle(seq, 1)
	t.Logf("%d scopes, listed in %d bytes: settled after %v, CPU %v", n, listed, time.Since(began), cpu(t)-before)
	if events := r.log.since(mark); bytesSent(r, mark) > 0 {
		t.Errorf("%d bytes sent to a proxy that had everything:\n%s", bytesSent(r, mark), lines(events))
	}
	if st := r.Standing(group, names(xdsserve.Scopes, "x/"+strings.Repeat("0", 95)+"39999")...); st.Acknowledged != 1 {
		t.Errorf("the last scope: %+v", st)
	}
}
