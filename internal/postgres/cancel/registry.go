package cancel

import (
	"crypto/subtle"
	"hash/maphash"
	"strings"
	"sync"

	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
)

// Session is the number of a session, never given twice in one process.
type Session uint64

// Target is where the cancel of a session goes. Address is the caller's: an endpoint
// and what else a connection to it needs.
type Target[A any] struct {
	Session Session
	Address A
}

// MaxTargets is the number of sessions that one key can stand for. Keys are random, so
// that two backends rarely give the same one; a server that gives everybody the same
// key must not turn one CancelRequest into thousands.
const MaxTargets = 8

// Registry knows the keys of the sessions under way. Its methods may be called from
// several goroutines.
type Registry[A any] struct {
	digest func(pgwire.Key) uint64

	mu      sync.Mutex
	entries map[uint64]*entry[A] // by the digest of the key; equal ones are chained, the oldest first
	count   int
}

type entry[A any] struct {
	key    pgwire.Key
	target Target[A]
	next   *entry[A]
}

// NewRegistry returns a Registry that knows no key.
func NewRegistry[A any]() *Registry[A] {
	seed := maphash.MakeSeed()
	return &Registry[A]{
		digest:  func(key pgwire.Key) uint64 { return maphash.Comparable(seed, key) },
		entries: make(map[uint64]*entry[A]),
	}
}

// Learn notes the key that the target's backend gave its session, and tells whether it
// did. It does not when the key is no secret (its PID and every byte of its Secret are
// zero, which is how a server says that it cannot cancel), when the session has taught
// it already, or when MaxTargets sessions have.
func (r *Registry[A]) Learn(key pgwire.Key, target Target[A]) bool {
	if zero(key) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	index := r.digest(key)
	first, same := r.entries[index], 0
	last := &first
	for ; *last != nil; last = &(*last).next {
		if !equal((*last).key, key) {
			continue
		}
		if same++; same == MaxTargets || (*last).target.Session == target.Session {
			return false
		}
	}
	*last = &entry[A]{key: key, target: target}
	r.entries[index] = first
	r.count++
	return true
}

// Forget removes the key of a session that has ended, and tells whether it was there.
// The same key of another session stays.
func (r *Registry[A]) Forget(key pgwire.Key, session Session) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	index := r.digest(key)
	first := r.entries[index]
	for at := &first; *at != nil; at = &(*at).next {
		if (*at).target.Session == session && equal((*at).key, key) {
			*at = (*at).next
			r.put(index, first)
			r.count--
			return true
		}
	}
	return false
}

func (r *Registry[A]) put(index uint64, first *entry[A]) {
	if first == nil {
		delete(r.entries, index)
		return
	}
	r.entries[index] = first
}

// Lookup adds to dst the targets whose backends gave this key, in the order in which
// they were learnt. It adds none if the key is unknown, and more than one if several
// backends gave the same: a cancel then goes to all of them. It allocates nothing if
// dst has room for MaxTargets.
func (r *Registry[A]) Lookup(dst []Target[A], key pgwire.Key) []Target[A] {
	r.mu.Lock()
	defer r.mu.Unlock()
	for e := r.entries[r.digest(key)]; e != nil; e = e.next {
		if equal(e.key, key) {
			dst = append(dst, e.target)
		}
	}
	return dst
}

// Len is the number of sessions whose keys are known.
func (r *Registry[A]) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

// equal takes the same time wherever two keys of one length differ.
func equal(a, b pgwire.Key) bool {
	pid := a.PID ^ b.PID
	return subtle.ConstantTimeEq(int32(pid), 0)&subtle.ConstantTimeCompare([]byte(a.Secret), []byte(b.Secret)) == 1
}

// zero tells whether the key is nothing but zeros.
func zero(key pgwire.Key) bool {
	return key.PID == 0 && strings.Trim(key.Secret, "\x00") == ""
}
