package limit

import "sync"

// Census counts what is there now, by key. It remembers only keys that have something.
// Its methods may be called from several goroutines.
type Census[K comparable] struct {
	most int // 0 is no limit

	mu    sync.Mutex
	count map[K]int
}

// NewCensus returns an empty Census that lets most be there at once with one key; 0 is
// no limit.
func NewCensus[K comparable](most int) *Census[K] {
	return &Census[K]{most: most, count: make(map[K]int)}
}

// Enter counts one more, unless the key has as many as it may.
func (c *Census[K]) Enter(key K) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.most > 0 && c.count[key] >= c.most {
		return false
	}
	c.count[key]++
	return true
}

// Leave counts one less.
func (c *Census[K]) Leave(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count[key]--; c.count[key] <= 0 {
		delete(c.count, key)
	}
}

// Len is how many keys have something.
func (c *Census[K]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.count)
}
