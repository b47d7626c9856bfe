package lease

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// model is the store as one would say it in words: it scans everything, every time.
type model struct {
	now       time.Time
	proxies   map[string]Proxy
	leases    []*modelLease // in order of being granted
	cooldowns map[[2]string]cooldown
}

type modelLease struct {
	Lease
	uid     string
	gone    bool
	request Request
}

func (l *modelLease) active(now time.Time) bool { return !l.gone && now.Before(l.ExpiresAt) }

func (m *model) load(uid, target string, any bool) (n int) {
	for _, l := range m.leases {
		if l.uid == uid && l.active(m.now) && (any || l.Target == target) {
			n++
		}
	}
	return n
}

// fit returns the field of a refusal that a proxy is counted in, or "".
func (m *model) fit(p Proxy, target string) string {
	switch {
	case !p.Healthy:
		return "unhealthy"
	case p.Capacity > 0 && m.load(p.UID, "", true) >= p.Capacity, p.PerTarget > 0 && m.load(p.UID, target, false) >= p.PerTarget:
		return "full"
	case m.now.Before(m.cooldowns[[2]string{p.UID, target}].until), m.now.Before(m.cooldowns[[2]string{p.UID, ""}].until):
		return "cooling"
	}
	return ""
}

func (m *model) acquire(r Request) (string, bool, *NoMatchError) {
	refusal := &NoMatchError{}
	var fit []Proxy
	for _, p := range m.proxies {
		if !r.Selector.Matches(&p) || slices.Contains(r.Exclude, p.Namespace+"/"+p.Name) {
			continue
		}
		refusal.Considered++
		switch m.fit(p, r.Target) {
		case "unhealthy":
			refusal.Unhealthy++
		case "full":
			refusal.AtCapacity++
		case "cooling":
			refusal.InCooldown++
		default:
			fit = append(fit, p)
		}
	}
	if len(fit) == 0 {
		return "", false, refusal
	}
	slices.SortFunc(fit, func(a, b Proxy) int {
		if by := m.load(a.UID, "", true) - m.load(b.UID, "", true); by != 0 {
			return by
		}
		return inOrder(&member{Proxy: a}, &member{Proxy: b})
	})
	had := m.had(r)
	if i := slices.IndexFunc(fit, func(p Proxy) bool { return p.UID == had }); i >= 0 {
		return fit[i].UID, false, nil
	}
	return fit[0].UID, had != "", nil
}

// had is the proxy that the session of the request had last, while that is remembered.
func (m *model) had(r Request) (uid string) {
	for _, l := range m.leases {
		if r.Session != "" && sessionKey(l.request) == sessionKey(r) {
			uid = l.uid
			if l.gone {
				uid = "one that is gone"
			}
			if !m.now.Before(l.ExpiresAt.Add(CooldownWindow)) {
				uid = ""
			}
		}
	}
	return uid
}

var (
	countries = []string{"de", "fr"}
	targets   = []string{"", "a.example", "b.example"}
)

func drawProxy(t *rapid.T, uid string) Proxy {
	return Proxy{
		UID: uid, Namespace: rapid.SampledFrom([]string{"n1", "n2"}).Draw(t, "namespace"), Name: "p" + uid,
		Address:       rapid.SampledFrom([]string{"192.0.2.1", "192.0.2.2"}).Draw(t, "address"),
		Attributes:    map[string]string{"country": rapid.SampledFrom(countries).Draw(t, "country")},
		LatencyMillis: int64(rapid.IntRange(1, 3).Draw(t, "latency")), Healthy: rapid.IntRange(0, 5).Draw(t, "healthy") > 0,
		Capacity: rapid.IntRange(0, 3).Draw(t, "capacity"), PerTarget: rapid.IntRange(0, 2).Draw(t, "perTarget"),
	}
}

func drawRequest(t *rapid.T) Request {
	r := Request{
		Target: rapid.SampledFrom(targets).Draw(t, "target"), TTL: time.Duration(rapid.IntRange(1, 900).Draw(t, "ttl")) * time.Second,
		Session: rapid.SampledFrom([]string{"", "", "s1", "s2"}).Draw(t, "session"),
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
	return r
}

// TestMemoryIsTheModel plays the same story to the store and to the model.
func TestMemoryIsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{now: time.Unix(1_800_000_000, 0), proxies: map[string]Proxy{}, cooldowns: map[[2]string]cooldown{}}
		ids := 0
		store := NewMemory(func() time.Time { return m.now }, func() string { ids++; return strconv.Itoa(ids) })
		pick := func() *modelLease {
			if len(m.leases) == 0 {
				t.Skip("no lease yet")
			}
			return rapid.SampledFrom(m.leases).Draw(t, "lease")
		}
		known := func(l *modelLease) bool { return m.now.Before(l.ExpiresAt.Add(CooldownWindow)) }
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				p := drawProxy(t, strconv.Itoa(rapid.IntRange(1, 6).Draw(t, "uid")))
				if m.proxies[p.UID].Address != p.Address {
					maps.DeleteFunc(m.cooldowns, func(key [2]string, _ cooldown) bool { return key[0] == p.UID })
				}
				m.proxies[p.UID] = p
				must(t, store.Set(t.Context(), p))
			},
			"remove": func(t *rapid.T) {
				uid := strconv.Itoa(rapid.IntRange(1, 6).Draw(t, "uid"))
				delete(m.proxies, uid)
				maps.DeleteFunc(m.cooldowns, func(key [2]string, _ cooldown) bool { return key[0] == uid })
				for _, l := range m.leases {
					if l.uid == uid && !l.gone {
						if l.active(m.now) {
							l.ExpiresAt = m.now
						}
						l.gone = true
					}
				}
				must(t, store.Remove(t.Context(), uid))
			},
			"acquire": func(t *rapid.T) {
				r := drawRequest(t)
				uid, rebound, refusal := m.acquire(r)
				got, err := store.Acquire(t.Context(), r)
				if no, ok := errors.AsType[*NoMatchError](err); ok {
					no.RetryAfter = 0
					if diff := cmp.Diff(refusal, no); diff != "" {
						t.Fatalf("refusal of %+v (-model +store):\n%s", r, diff)
					}
					return
				}
				if err != nil || refusal != nil || got.Proxy.UID != uid || got.Rebound != rebound {
					t.Fatalf("%+v: %s, rebound %v (%v); the model has %s, rebound %v (%v)", r, got.Proxy.UID, got.Rebound, err, uid, rebound, refusal)
				}
				m.leases = append(m.leases, &modelLease{Lease: got, uid: uid, request: r})
			},
			"release": func(t *rapid.T) {
				l := pick()
				if l.active(m.now) {
					l.ExpiresAt = m.now
				}
				must(t, store.Release(t.Context(), l.ID))
			},
			"renew": func(t *rapid.T) {
				l := pick()
				_, err := store.Renew(t.Context(), l.ID, time.Minute)
				switch {
				case !known(l):
					want(t, err, ErrUnknown)
				case l.gone:
					want(t, err, ErrProxyGone)
				case !l.active(m.now):
					want(t, err, ErrUnknown)
				default:
					want(t, err, nil)
					l.ExpiresAt = m.now.Add(time.Minute)
				}
			},
			"report": func(t *rapid.T) {
				l, target := pick(), rapid.SampledFrom(targets).Draw(t, "target")
				result := rapid.SampledFrom([]Result{OK, RateLimited, Banned}).Draw(t, "result")
				err := store.Report(t.Context(), l.ID, result, target)
				if !known(l) {
					want(t, err, ErrUnknown)
					return
				}
				want(t, err, nil)
				if target == "" {
					target = l.Target
				}
				if p, ok := m.proxies[l.uid]; ok && !l.gone && result != OK && p.Address == l.Proxy.Address {
					key := [2]string{l.uid, target}
					m.cooldowns[key] = m.cooldowns[key].after(m.now)
				}
			},
			"restart": func(t *rapid.T) {
				encoded, err := json.Marshal(store.State())
				must(t, err)
				var state State
				must(t, json.Unmarshal(encoded, &state))
				fresh := NewMemory(store.now, store.newID)
				fresh.Restore(state)
				for _, p := range m.proxies {
					must(t, fresh.Set(t.Context(), p))
				}
				if diff := cmp.Diff(store.State(), fresh.State(), cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("a restart loses (-before +after):\n%s", diff)
				}
				store = fresh
			},
			"pass": func(t *rapid.T) {
				m.now = m.now.Add(time.Duration(rapid.IntRange(1, 1200).Draw(t, "seconds")) * time.Second)
			},
			"": func(t *rapid.T) {
				counts, err := store.Counts(t.Context())
				must(t, err)
				want := map[string]int{}
				for uid := range m.proxies {
					if n := m.load(uid, "", true); n > 0 {
						want[uid] = n
					}
				}
				if diff := cmp.Diff(want, counts); diff != "" {
					t.Fatalf("counts (-model +store):\n%s", diff)
				}
			},
		})
	})
}

func must(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

func want(t *rapid.T, err, want error) {
	if !errors.Is(err, want) || err != nil && want == nil {
		t.Fatalf("error %v, the model has %v", err, want)
	}
}

// BenchmarkMemory is the workload of docs/benchmarks.md.
func BenchmarkMemory(b *testing.B) {
	store := benchStore(b)
	var clients atomic.Int64
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for i := int(clients.Add(1)) * 7919; pb.Next(); i++ {
			got, err := store.Acquire(b.Context(), benchRequest(i))
			if err != nil {
				b.Error(err)
				return
			}
			_ = store.Release(b.Context(), got.ID)
		}
	})
}

func benchRequest(i int) Request {
	return Request{
		Selector: Selector{Attributes: map[string]string{"group": strconv.Itoa(i % 20)}},
		Target:   fmt.Sprintf("t%d.example", i%50), TTL: time.Minute,
	}
}

// benchStore has 1,000 proxies of capacity 10 in 20 groups, 5 % of the pairs of proxy
// and target cooling.
func benchStore(b *testing.B) *Memory {
	ids := 0
	store := NewMemory(time.Now, func() string { ids++; return strconv.Itoa(ids) })
	for i := range 1000 {
		p := Proxy{
			UID: strconv.Itoa(i), Namespace: "crawl", Name: fmt.Sprintf("p%d", i), LatencyMillis: int64(i * 31 % 97), Healthy: true,
			Capacity: 10, Attributes: map[string]string{"group": strconv.Itoa(i % 20)},
		}
		if err := store.Set(b.Context(), p); err != nil {
			b.Fatal(err)
		}
		for target := range 50 {
			if (i/20*7+i+target)%20 == 0 {
				store.members[p.UID].rest(fmt.Sprintf("t%d.example", target), time.Now())
			}
		}
	}
	return store
}
