package pipeline

import (
	"time"

	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// change is one accepted change of an object on its way to the proxies.
type change struct {
	key        store.Key
	what       string
	observedAt time.Time
	since      time.Time // of an object that was rejected before: since when
}

// inflight are the changes that some proxy has not answered yet.
type inflight struct {
	rounds []flight
}

// flight is what one round published, and the proxies that still have to answer.
type flight struct {
	seq     uint64
	changes []change
	before  derive.State    // what was accepted before it
	waiting map[string]bool // by node id
}

// add notes a round; proxies are those that must answer.
func (f *inflight) add(seq uint64, changes []change, before derive.State, proxies []string) {
	waiting := make(map[string]bool, len(proxies))
	for _, p := range proxies {
		waiting[p] = true
	}
	f.rounds = append(f.rounds, flight{seq: seq, changes: changes, before: before, waiting: waiting})
}

// firstOf stands for whichever proxy of a group comes first.
func firstOf(group string) string { return "first of " + group }

// settle notes that a proxy of a group has answered everything up to seq, and
// returns the rounds that no proxy has left to answer.
func (f *inflight) settle(proxy, group string, seq uint64) []flight {
	return f.take(func(r *flight) {
		if r.seq <= seq {
			delete(r.waiting, proxy)
			delete(r.waiting, firstOf(group))
		}
	})
}

// gone notes that a proxy will not answer; it gets everything anew when it is back.
func (f *inflight) gone(proxy string) []flight {
	return f.take(func(r *flight) { delete(r.waiting, proxy) })
}

// landed returns the rounds that wait for no proxy.
func (f *inflight) landed() []flight { return f.take(func(*flight) {}) }

func (f *inflight) take(update func(*flight)) []flight {
	var landed []flight
	kept := f.rounds[:0]
	for _, r := range f.rounds {
		update(&r)
		if len(r.waiting) == 0 {
			landed = append(landed, r)
			continue
		}
		kept = append(kept, r)
	}
	clear(f.rounds[len(kept):])
	f.rounds = kept
	return landed
}
