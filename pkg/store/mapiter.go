package store

import (
	"iter"
	"strings"
)

// All yields every key and value in key order.
func (m Map[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) { m.root.each(yield) }
}

// From yields the keys at or after start in key order.
func (m Map[K, V]) From(start K) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) { m.root.from(start, yield) }
}

// Prefix yields the keys that start with prefix in key order.
func (m Map[K, V]) Prefix(prefix K) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		m.root.from(prefix, func(key K, value V) bool {
			return strings.HasPrefix(string(key), string(prefix)) && yield(key, value)
		})
	}
}

func (n *node[K, V]) each(yield func(K, V) bool) bool {
	return n == nil || n.left.each(yield) && yield(n.key, n.value) && n.right.each(yield)
}

func (n *node[K, V]) from(start K, yield func(K, V) bool) bool {
	switch {
	case n == nil:
		return true
	case n.key < start:
		return n.right.from(start, yield)
	default:
		return n.left.from(start, yield) && yield(n.key, n.value) && n.right.each(yield)
	}
}
