package leasetest

import (
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
)

// contract is what a story may not come to in time, one promise a test.
var contract = []struct {
	name string
	test func(*testing.T, Rig)
}{
	{"ReplacedProxyEndsItsLeases", testReplaced},
	{"ExpiryByClockAlone", testExpiry},
}

// proxy is one that takes one lease at a time.
func proxy(uid string) lease.Proxy {
	return lease.Proxy{
		UID: uid, Namespace: "crawl", Name: "p" + uid, Instance: "i" + uid, Address: "192.0.2." + uid,
		Attributes: map[string]string{"country": "de"}, Healthy: true, Capacity: 1,
	}
}

func (r Rig) tell(t T, proxies ...lease.Proxy) {
	t.Helper()
	for _, p := range proxies {
		must(t, r.Store.Set(t.Context(), p))
	}
}

func (r Rig) take(t T, q lease.Request) lease.Lease {
	t.Helper()
	if q.TTL == 0 {
		q.TTL = ttl
	}
	got, err := r.Store.Acquire(t.Context(), q)
	must(t, err)
	return got
}

func testReplaced(t *testing.T, r Rig) {
	p := proxy("1")
	r.tell(t, p)
	held := r.take(t, lease.Request{})
	p.LatencyMillis = 7
	r.tell(t, p)
	_, err := r.Store.Renew(t.Context(), held.ID, ttl)
	want(t, err, nil)
	p.Instance = "another"
	r.tell(t, p)
	_, err = r.Store.Renew(t.Context(), held.ID, ttl)
	want(t, err, lease.ErrProxyGone)
	r.take(t, lease.Request{}) // its place is free
}

func testExpiry(t *testing.T, r Rig) {
	r.tell(t, proxy("1"))
	held := r.take(t, lease.Request{TTL: lease.MinTTL})
	r.Pass(held.ExpiresAt.Sub(r.Now()) + 2*time.Millisecond)
	next := r.take(t, lease.Request{})
	_, err := r.Store.Renew(t.Context(), held.ID, ttl)
	want(t, err, lease.ErrUnknown)
	if next.Fence <= held.Fence {
		t.Errorf("fence %d after %d: it must grow", next.Fence, held.Fence)
	}
}
