package lease

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"sync/atomic"
	"time"
)

// granted is a lease, active or ended and still to be reported about. What is not said
// to change does not.
type granted struct {
	id          string
	proxy       *Proxy // as it was granted
	member      *member
	era         int64 // of its member
	shape       *shape
	target      string
	session     string // with the selector, as the store finds it
	key, digest string // of a request that can be repeated while the lease is active
	bound       bool   // not rebound
	fence       uint64
	outlived    atomic.Bool // a later lease has its session

	// These change under the store's lock, while it is active.
	active  bool
	expires time.Time
	ttl     time.Duration
	place   int // in the queue of those that are active
}

// shape is a selector that leases were granted by.
type shape struct {
	Selector
	name string // canonical
}

// gone says whether its proxy is, or is another instance.
func (g *granted) gone() bool { return g.era != g.member.era.Load() }

func (g *granted) lease() Lease {
	return Lease{
		ID: g.id, Proxy: *g.proxy, Target: g.target, ExpiresAt: g.expires, TTL: g.ttl, Rebound: !g.bound, Fence: g.fence,
	}
}

// digest tells requests apart that come with the same key. It is kept in their place:
// they may be large.
func digest(r Request) string {
	r.Exclude = nil
	if len(r.Selector.Attributes) == 0 {
		r.Selector.Attributes = nil
	}
	encoded, _ := json.Marshal(r) // strings and a number: it cannot fail
	sum := sha256.Sum256(encoded)
	return string(sum[:])
}

func sessionKey(session string, sh *shape) string { return session + "\x00\x00" + sh.name }

// queue has leases in order of when they end, for container/heap.
type queue []*granted

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].expires.Before(q[j].expires) }

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

// Push implements heap.Interface.
func (q *queue) Push(x any) {
	g := x.(*granted)
	g.place = len(*q)
	*q = append(*q, g)
}

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := len(*q) - 1
	g := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return g
}

// line has leases in the order in which they ended.
type line struct {
	all  []*granted
	gone int // of all, from its beginning, are no more in it
}

func (l *line) push(g *granted) { l.all = append(l.all, g) }
func (l *line) len() int        { return len(l.all) - l.gone }

// first returns the one that ended first, or nil.
func (l *line) first() *granted {
	if l.len() == 0 {
		return nil
	}
	return l.all[l.gone]
}

// pop drops the first; what it leaves is moved once in as many times.
func (l *line) pop() {
	l.all[l.gone] = nil
	if l.gone++; l.gone > len(l.all)/2 {
		l.all, l.gone = slices.Delete(l.all, 0, l.gone), 0
	}
}

// last returns the latest n.
func (l *line) last(n int) []*granted {
	return slices.Clone(l.all[max(l.gone, len(l.all)-n):])
}
