// Package limit counts what the router allows: how often something may happen by a key,
// and how many there may be at once. It takes the time from its caller and blocks for
// nothing but a mutex that is held for one look-up; what it remembers is bounded.
package limit

import (
	"container/list"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Rate is how often something may happen to one key.
type Rate struct {
	// PerSecond is how often on average; 0 or less is no limit.
	PerSecond float64
	// Burst is how often at once, at least 1 if there is a limit.
	Burst int
	// Keys are how many are remembered, at least 1 if there is a limit. The one that was
	// silent for longest is forgotten first.
	Keys int
}

// Buckets hold the tokens of many keys. Their methods may be called from several
// goroutines.
type Buckets[K comparable] struct {
	rate Rate
	now  func() time.Time

	mu     sync.Mutex
	keys   map[K]*list.Element
	recent *list.List // of *bucket[K], the last that was asked for first
}

type bucket[K comparable] struct {
	key    K
	tokens *rate.Limiter
}

// NewBuckets returns Buckets that are all full. They take the time from now.
func NewBuckets[K comparable](r Rate, now func() time.Time) *Buckets[K] {
	r.Burst, r.Keys = max(r.Burst, 1), max(r.Keys, 1)
	return &Buckets[K]{rate: r, now: now, keys: make(map[K]*list.Element), recent: list.New()}
}

// Take takes one token of a key, and tells whether there was one.
func (b *Buckets[K]) Take(key K) bool {
	if b.rate.PerSecond <= 0 {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bucket(key).AllowN(b.now(), 1)
}

// mostOwed is how many bursts a key may owe.
const mostOwed = 5

// Owe takes one token of a key, also if there is none: for what cannot be undone any more.
// The key then has none until what it owes has come, five bursts at most.
func (b *Buckets[K]) Owe(key K) {
	if b.rate.PerSecond <= 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	tokens, now := b.bucket(key), b.now()
	if tokens.TokensAt(now)-1 >= float64(-mostOwed*b.rate.Burst) {
		tokens.ReserveN(now, 1)
	}
}

// Has tells whether a key has a token left, and takes none.
func (b *Buckets[K]) Has(key K) bool {
	if b.rate.PerSecond <= 0 {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	element, known := b.keys[key]
	return !known || element.Value.(*bucket[K]).tokens.TokensAt(b.now()) >= 1
}

// Len is how many keys are remembered.
func (b *Buckets[K]) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.recent.Len()
}

// bucket returns the key's, as the one that was asked for last.
func (b *Buckets[K]) bucket(key K) *rate.Limiter {
	if element, ok := b.keys[key]; ok {
		b.recent.MoveToFront(element)
		return element.Value.(*bucket[K]).tokens
	}
	if b.recent.Len() == b.rate.Keys {
		oldest := b.recent.Remove(b.recent.Back()).(*bucket[K])
		delete(b.keys, oldest.key)
	}
	fresh := &bucket[K]{key: key, tokens: rate.NewLimiter(rate.Limit(b.rate.PerSecond), b.rate.Burst)}
	b.keys[key] = b.recent.PushFront(fresh)
	return fresh.tokens
}
