package pipeline

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/publish/status"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// board is what readers see of the loop beside the evaluation: where objects
// stand, what the source refused, and what the proxies say of listeners. Only
// the loop writes; it is safe for concurrent use.
type board struct {
	current atomic.Pointer[published]

	mu       sync.RWMutex
	next     chan struct{} // closed when another value is published
	origins  map[store.Key]snapshot.Origin
	byFile   map[string][]snapshot.Finding
	noticed  map[string]map[string]time.Time  // since when, by file and content
	byObject map[store.Key][]snapshot.Finding // refusals, in order of the file
	accepted map[store.Key]time.Time          // when the accepted revision was accepted
	rejected map[store.Key]time.Time          // since when an object is rejected
	recalled map[store.Key]bool               // what serves was accepted by an earlier process
	facts    map[model.GatewayID]status.Facts
	lacking  map[model.GatewayID][]string // slow clusters without a host
	behind   map[string]time.Time         // by proxy: since when it has something to answer
	files    int
	// unavailable are validators that give no verdict now: why, by name.
	unavailable map[string]string
}

func newBoard() *board {
	b := &board{
		origins: map[store.Key]snapshot.Origin{}, byFile: map[string][]snapshot.Finding{}, noticed: map[string]map[string]time.Time{},
		byObject: map[store.Key][]snapshot.Finding{}, accepted: map[store.Key]time.Time{},
		rejected: map[store.Key]time.Time{}, recalled: map[store.Key]bool{}, facts: map[model.GatewayID]status.Facts{},
		lacking: map[model.GatewayID][]string{}, behind: map[string]time.Time{},
		unavailable: map[string]string{}, next: make(chan struct{}),
	}
	b.current.Store(&published{})
	return b
}

func (b *board) origin(key store.Key) (snapshot.Origin, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	o, ok := b.origins[key]
	return o, ok
}

func (b *board) fileCount() int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.files
}

// landed notes that revisions were accepted, rejected or deleted in a round.
func (b *board) landed(changes []change, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range changes {
		switch c.what {
		case wasDeleted:
			delete(b.accepted, c.key)
			delete(b.rejected, c.key)
			delete(b.recalled, c.key)
		case wasRejected:
			if _, standing := b.rejected[c.key]; !standing {
				b.rejected[c.key] = now
			}
		default:
			b.accepted[c.key] = now
			delete(b.recalled, c.key)
			if !b.refusedBySource(c.key) {
				delete(b.rejected, c.key)
			}
		}
	}
}

func (b *board) acceptedAt(key store.Key) (time.Time, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	t, ok := b.accepted[key]
	return t, ok
}

func (b *board) rejectedSince(key store.Key) (time.Time, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	t, ok := b.rejected[key]
	return t, ok
}

// since is when an object was first rejected; zero if it is not known to be.
func (b *board) since(key store.Key) time.Time {
	at, _ := b.rejectedSince(key)
	return at
}

func (b *board) factsOf(g model.GatewayID) status.Facts {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.facts[g]
}

// unprove forgets what proxies said of listeners that changed; nil means of all.
func (b *board) unprove(g model.GatewayID, listeners []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	facts, known := b.facts[g]
	if !known {
		return
	}
	left := maps.Clone(facts.Listeners)
	if listeners == nil {
		clear(left)
	}
	for _, key := range listeners {
		delete(left, key)
	}
	b.facts[g] = status.Facts{Listeners: left, Addresses: facts.Addresses}
}

func (b *board) setFacts(g model.GatewayID, f status.Facts) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.facts[g] = f
}

// forget drops what proxies said of a Gateway that is gone.
func (b *board) forget(g model.GatewayID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.facts, g)
	delete(b.lacking, g)
}

func (b *board) lackingOf(g model.GatewayID) []string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.lacking[g]
}

// setLacking notes which slow clusters of a Gateway have no host.
func (b *board) setLacking(g model.GatewayID, clusters []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(clusters) == 0 {
		delete(b.lacking, g)
		return
	}
	b.lacking[g] = clusters
}

// answered notes whether a proxy still has something to answer.
func (b *board) answered(proxy string, behind bool, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch _, since := b.behind[proxy]; {
	case !behind:
		delete(b.behind, proxy)
	case !since:
		b.behind[proxy] = now
	}
}

func (b *board) behindSince(belief xdsserve.Belief, now time.Time) time.Time {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if since, ok := b.behind[belief.Proxy]; ok {
		return since
	}
	return now
}
