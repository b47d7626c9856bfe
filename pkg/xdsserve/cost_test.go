package xdsserve

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	discovery_v3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// plant is a session of a proxy that acknowledges everything at once, and has n
// clusters with endpoints, spread over a table for each 300, and a listener.
type plant struct {
	tb      testing.TB
	catalog catalog
	session *session
	changes []key
	replies []*discovery_v3.DeltaDiscoveryRequest
	now     time.Time
	version int
}

const perTable = 300

func newPlant(tb testing.TB, n int) *plant {
	tb.Helper()
	p := &plant{tb: tb, catalog: catalog{groups: map[string]*shelf{}}, now: time.Unix(1000, 0)}
	opts := Options{}.withDefaults()
	p.session = newSession("p", "g", &opts, &p.catalog, memory{}, p.now)
	p.catalog.seq++
	var tableNames []string
	for i := range n {
		if i%perTable == 0 {
			tableNames = append(tableNames, p.table(i/perTable))
		}
		p.cluster(i)
	}
	p.set(Listener, "l", usesOf(Routes, tableNames...)...)
	p.step(wildcard(Cluster), wildcard(Listener), &discovery_v3.DeltaDiscoveryRequest{
		TypeUrl: string(Routes), ResourceNamesSubscribe: tableNames,
	}, &discovery_v3.DeltaDiscoveryRequest{TypeUrl: string(Endpoints), ResourceNamesSubscribe: p.endpoints(n)})
	p.rest()
	if s := p.session; len(s.open) > 0 || len(s.records[endpoints]) != n {
		tb.Fatalf("%d unanswered, %d endpoints", len(s.open), len(s.records[endpoints]))
	}
	return p
}

func wildcard(t Type) *discovery_v3.DeltaDiscoveryRequest {
	return &discovery_v3.DeltaDiscoveryRequest{TypeUrl: string(t)}
}

func usesOf(t Type, names ...string) []Name {
	var uses []Name
	for _, n := range names {
		uses = append(uses, Name{t, n})
	}
	return uses
}

func (p *plant) endpoints(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprint("c", i))
	}
	return names
}

func (p *plant) table(i int) string {
	var cs []string
	for j := range perTable {
		cs = append(cs, fmt.Sprint("c", i*perTable+j))
	}
	name := fmt.Sprint("t", i)
	p.set(Routes, name, usesOf(Cluster, cs...)...)
	return name
}

func (p *plant) cluster(i int) {
	name := fmt.Sprint("c", i)
	p.set(Cluster, name, Name{Endpoints, name})
	p.set(Endpoints, name)
}

// set publishes a new version of a resource.
func (p *plant) set(t Type, name string, uses ...Name) {
	p.version++
	v := fmt.Sprint(p.version)
	k, _ := p.catalog.set(Resource{Name: Name{t, name}, Group: "g", Version: v, Body: []byte(v), Uses: uses}, p.now)
	p.changes = append(p.changes, k)
}

func (p *plant) step(requests ...*discovery_v3.DeltaDiscoveryRequest) {
	s := p.session
	s.begin(p.now)
	for _, k := range p.changes {
		s.changed(k)
	}
	p.changes = p.changes[:0]
	for _, r := range requests {
		if err := s.receive(r); err != nil {
			p.tb.Fatal(err)
		}
	}
	s.pump()
	for _, a := range s.take() {
		if a.response != nil {
			p.replies = append(p.replies, &discovery_v3.DeltaDiscoveryRequest{
				TypeUrl: a.response.GetTypeUrl(), ResponseNonce: a.response.GetNonce(),
			})
		}
	}
}

// rest answers until nothing goes out any more.
func (p *plant) rest() {
	for len(p.replies) > 0 {
		replies := p.replies
		p.replies = nil
		p.step(replies...)
	}
}

// changes are the edits whose cost must not depend on how much is published.
func changesByName() map[string]func(p *plant) {
	return map[string]func(p *plant){
		"endpoints": func(p *plant) { p.set(Endpoints, "c7") },
		"cluster":   func(p *plant) { p.cluster(7) },
		"table":     func(p *plant) { p.table(0) },
		"listener of one table": func(p *plant) {
			p.set(Listener, "m", Name{Routes, "t0"})
		},
	}
}

func TestPublishCostsItsOwnSize(t *testing.T) {
	for name, change := range changesByName() {
		t.Run(name, func(t *testing.T) {
			var looked [3]int
			for i, n := range []int{300, 3000, 30000} {
				p := newPlant(t, n)
				p.session.looked = 0
				p.catalog.seq++
				change(p)
				p.step()
				p.rest()
				looked[i] = p.session.looked
			}
			if looked[0] != looked[1] || looked[1] != looked[2] || looked[0] > 10 {
				t.Errorf("records looked at for 300, 3,000 and 30,000 clusters: %v", looked)
			}
		})
	}
}

// A Publish is noted once for each stream of the groups that it names, and for no other.
func TestPublishReachesItsGroupOnly(t *testing.T) {
	s := New(Options{})
	for _, id := range []identity{{"a", "1"}, {"a", "2"}, {"b", "1"}} {
		if s.streams[id.group] == nil {
			s.streams[id.group] = map[*connection]struct{}{}
		}
		s.streams[id.group][&connection{changed: map[key]struct{}{}, roused: make(chan struct{}, 1)}] = struct{}{}
	}
	r := func(group, name string) Resource {
		return Resource{Name: Name{Cluster, name}, Group: group, Version: name}
	}
	s.Publish(Update{Set: []Resource{r("a", "x"), r("a", "y"), r("b", "z"), r("c", "z")}})
	if s.noted != 5 {
		t.Errorf("%d notes, want 2×2 for group a and 1 for group b", s.noted)
	}
	s.Publish(Update{Set: []Resource{r("a", "x")}, Remove: []Scoped{{"b", Name{Cluster, "never"}}}})
	if s.noted != 5 {
		t.Errorf("%d notes more for nothing new", s.noted-5)
	}
	s.Publish(Update{Set: []Resource{r("", "shared")}})
	if s.noted != 8 {
		t.Errorf("%d notes for a shared resource, want 3", s.noted-5)
	}
}

func BenchmarkPublish(b *testing.B) {
	for name, change := range changesByName() {
		for _, n := range []int{300, 3000, 30000} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				p := newPlant(b, n)
				for b.Loop() {
					p.catalog.seq++
					change(p)
					p.step()
					p.rest()
				}
			})
		}
	}
}

func BenchmarkColdStart(b *testing.B) {
	for _, n := range []int{300, 3000, 30000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				newPlant(b, n)
			}
		})
	}
}

// A stream keeps names and versions, not bodies.
func TestStateOfAStreamIsSmall(t *testing.T) {
	const n = 10_000
	p := newPlant(t, n)
	opts, other, before := Options{}.withDefaults(), p.session, heapInUse()
	p.session = newSession("q", "g", &opts, &p.catalog, memory{}, p.now)
	p.step(wildcard(Cluster), wildcard(Listener), &discovery_v3.DeltaDiscoveryRequest{
		TypeUrl: string(Endpoints), ResourceNamesSubscribe: p.endpoints(n),
	})
	p.rest()
	each := (heapInUse() - before) / (2 * n)
	if each < 50 || each > 500 {
		t.Errorf("%d bytes for each resource, want at most 500", each)
	}
	runtime.KeepAlive(other)
	t.Logf("%d bytes for each resource", each)
}

func heapInUse() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
