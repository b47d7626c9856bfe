package leasetest

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
)

var (
	countries = []string{"de", "fr"}
	targets   = []string{"", "a.example", "b.example"}
)

// drawProxy draws one of a few, as it may be told.
func drawProxy(t *rapid.T, uid string) lease.Proxy {
	return lease.Proxy{
		UID: uid, Namespace: rapid.SampledFrom([]string{"n1", "n2"}).Draw(t, "namespace"), Name: "p" + uid,
		Instance:      rapid.SampledFrom([]string{"i1", "i1", "i1", "i2"}).Draw(t, "instance"),
		Address:       rapid.SampledFrom([]string{"192.0.2.1", "192.0.2.1", "192.0.2.2"}).Draw(t, "address"),
		Attributes:    map[string]string{"country": rapid.SampledFrom(countries).Draw(t, "country")},
		LatencyMillis: int64(rapid.IntRange(1, 3).Draw(t, "latency")), Healthy: rapid.IntRange(0, 5).Draw(t, "healthy") > 0,
		Capacity: rapid.IntRange(0, 3).Draw(t, "capacity"), PerTarget: rapid.IntRange(0, 2).Draw(t, "perTarget"),
	}
}

// drawRequest draws a request, with a TTL that ends in the story if time can be set.
func drawRequest(t *rapid.T, ends bool) lease.Request {
	r := lease.Request{
		Target: rapid.SampledFrom(targets).Draw(t, "target"), TTL: ttl,
		Session: rapid.SampledFrom([]string{"", "", "s1", "s2"}).Draw(t, "session"),
		Key:     rapid.SampledFrom([]string{"", "", "", "k1", "k2"}).Draw(t, "key"),
	}
	if ends {
		r.TTL = time.Duration(rapid.IntRange(1, 900).Draw(t, "ttl")) * time.Second
	}
	if rapid.Bool().Draw(t, "selects") {
		r.Selector.Attributes = map[string]string{"country": rapid.SampledFrom(countries).Draw(t, "country")}
	}
	if rapid.IntRange(0, 3).Draw(t, "namespaced") == 0 {
		r.Selector.Namespace = "n1"
	}
	if rapid.IntRange(0, 3).Draw(t, "excludes") == 0 {
		r.Exclude = []string{"n1/p1", "n2/p2"}
	}
	if r.Key != "" {
		r.Body = fmt.Sprint(rapid.IntRange(0, 1).Draw(t, "body"))
	}
	return r
}
