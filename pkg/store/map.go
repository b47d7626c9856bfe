package store

import (
	"strings"

	"github.com/cespare/xxhash/v2"
)

// Map is an immutable ordered map. Set and Delete return another Map that shares
// all but O(log n) nodes with the old one. The zero Map is empty.
//
// Equal keys always make the same tree, in whatever order they were set: it is a
// treap whose priorities are hashes of the keys. So two Maps are compared by
// skipping the subtrees that they share; a == b tells whether they share all.
type Map[K ~string, V any] struct{ root *node[K, V] }

type node[K ~string, V any] struct {
	key         K
	value       V
	left, right *node[K, V]
	priority    uint32
	size        uint32
}

// Len returns how many keys the Map has.
func (m Map[K, V]) Len() int { return m.root.len() }

// Get returns the value of a key.
func (m Map[K, V]) Get(key K) (V, bool) {
	for n := m.root; n != nil; {
		switch c := strings.Compare(string(key), string(n.key)); {
		case c == 0:
			return n.value, true
		case c < 0:
			n = n.left
		default:
			n = n.right
		}
	}
	var none V
	return none, false
}

// Has reports whether the Map has a key.
func (m Map[K, V]) Has(key K) bool {
	_, ok := m.Get(key)
	return ok
}

// Rank returns how many keys of the Map are less than key.
func (m Map[K, V]) Rank(key K) int {
	rank := 0
	for n := m.root; n != nil; {
		if n.key < key {
			rank += n.left.len() + 1
			n = n.right
		} else {
			n = n.left
		}
	}
	return rank
}

// Set returns the Map in which key has the value.
func (m Map[K, V]) Set(key K, value V) Map[K, V] {
	return Map[K, V]{m.root.set(&node[K, V]{key: key, value: value, priority: priority(key), size: 1})}
}

// Delete returns the Map without key; m itself when it has no such key.
func (m Map[K, V]) Delete(key K) Map[K, V] {
	if !m.Has(key) {
		return m
	}
	return Map[K, V]{m.root.delete(key)}
}

func priority[K ~string](key K) uint32 { return uint32(xxhash.Sum64String(string(key))) }

// above orders keys from root to leaf; ties are broken so that the shape is unique.
func (n *node[K, V]) above(other *node[K, V]) bool {
	if n.priority != other.priority {
		return n.priority > other.priority
	}
	return n.key < other.key
}

func (n *node[K, V]) len() int {
	if n == nil {
		return 0
	}
	return int(n.size)
}

// with returns a copy of n with other children.
func (n *node[K, V]) with(left, right *node[K, V]) *node[K, V] {
	return &node[K, V]{
		key: n.key, value: n.value, left: left, right: right,
		priority: n.priority, size: uint32(left.len() + right.len() + 1),
	}
}

// set puts a fresh node into the tree of n.
func (n *node[K, V]) set(fresh *node[K, V]) *node[K, V] {
	switch {
	case n == nil:
		return fresh
	case n.key == fresh.key:
		fresh.left, fresh.right, fresh.size = n.left, n.right, n.size
		return fresh
	case fresh.above(n): // then its key is nowhere below n
		fresh.left, fresh.right = n.split(fresh.key)
		fresh.size = uint32(fresh.left.len() + fresh.right.len() + 1)
		return fresh
	case fresh.key < n.key:
		return n.with(n.left.set(fresh), n.right)
	default:
		return n.with(n.left, n.right.set(fresh))
	}
}

// delete takes a key that is there out of the tree of n.
func (n *node[K, V]) delete(key K) *node[K, V] {
	switch {
	case n.key == key:
		return merge(n.left, n.right)
	case key < n.key:
		return n.with(n.left.delete(key), n.right)
	default:
		return n.with(n.left, n.right.delete(key))
	}
}

// split returns the trees of the keys less and greater than key.
func (n *node[K, V]) split(key K) (less, greater *node[K, V]) {
	switch {
	case n == nil:
		return nil, nil
	case n.key == key:
		return n.left, n.right
	case n.key < key:
		less, greater = n.right.split(key)
		return n.with(n.left, less), greater
	default:
		less, greater = n.left.split(key)
		return less, n.with(greater, n.right)
	}
}

// merge joins two trees; all keys of left are less than those of right.
func merge[K ~string, V any](left, right *node[K, V]) *node[K, V] {
	switch {
	case left == nil:
		return right
	case right == nil:
		return left
	case left.above(right):
		return left.with(left.left, merge(left.right, right))
	default:
		return right.with(merge(left, right.left), right.right)
	}
}
