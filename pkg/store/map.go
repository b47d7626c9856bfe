package store

import "strings"

// Map is an immutable ordered map. Set and Delete return another Map that shares
// all but O(log n) nodes with the old one. The zero Map is empty.
//
// Equal keys always make the same tree, in whatever order they were set: it is a
// treap whose priorities are hashes of the keys. So two Maps are compared by
// skipping the subtrees that they share; a == b tells whether they share all.
type Map[K ~string, V any] struct{ root *node[K, V] }

// Draft makes many edits cheaper: nodes that an edit with a Draft made are changed
// in place by the next edit with the same Draft. So a Map that was made with a
// Draft must not be used any more once it was edited with it again; drop the Draft
// to make it immutable. Maps that were made without it are never changed.
type Draft struct{ _ byte }

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
func (m Map[K, V]) Set(key K, value V) Map[K, V] { return m.SetIn(nil, key, value) }

// SetIn is Set as part of a Draft; a nil Draft makes it Set.
func (m Map[K, V]) SetIn(d *Draft, key K, value V) Map[K, V] {
	return Map[K, V]{m.root.set(d, place[K]{key, priority(key)}, value)}
}

// Delete returns the Map without key; m itself when it has no such key.
func (m Map[K, V]) Delete(key K) Map[K, V] { return m.DeleteIn(nil, key) }

// DeleteIn is Delete as part of a Draft; a nil Draft makes it Delete.
func (m Map[K, V]) DeleteIn(d *Draft, key K) Map[K, V] {
	if !m.Has(key) {
		return m
	}
	return Map[K, V]{m.root.delete(d, key)}
}
