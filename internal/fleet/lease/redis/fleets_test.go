package redis_test

import (
	"net/url"
	"strconv"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease/redis"
	"github.com/gatehouse-proxy/gatehouse/test/fleet/redis/server"
)

// TestFleetsOfOneServer: what one fleet tells, and keeps, ends no lease of another.
func TestFleetsOfOneServer(t *testing.T) {
	s := server.Start(t, server.Options{})
	one, two := open(t, s, redis.Options{Fleet: "a/x"}, url.Values{}), open(t, s, redis.Options{Fleet: "b/x"}, url.Values{})
	tell(t, one, 2)
	held := acquire(t, one, lease.Request{})
	if err := two.Set(t.Context(), lease.Proxy{UID: "9", Namespace: "n", Name: "9", Address: "192.0.2.9", Healthy: true}); err != nil {
		t.Fatal(err)
	}
	if err := two.Retain(t.Context(), func(uid string) bool { return uid == "9" }); err != nil {
		t.Fatal(err)
	}
	if _, err := one.Renew(t.Context(), held.ID, held.TTL); err != nil {
		t.Error("the lease of another fleet:", err)
	}
	for i := range 4 {
		if got := acquire(t, two, lease.Request{Target: strconv.Itoa(i)}); got.Proxy.UID != "9" {
			t.Error("leased the proxy of another fleet:", got.Proxy.UID)
		}
	}
	shared := url.Values{"prefix": {"p"}}
	one, two = open(t, s, redis.Options{Fleet: "a/x"}, shared), open(t, s, redis.Options{Fleet: "b/x"}, shared)
	tell(t, one, 1)
	if got := acquire(t, two, lease.Request{}); got.Proxy.UID != "0" {
		t.Error("a prefix in the URL does not count:", got.Proxy.UID)
	}
}
