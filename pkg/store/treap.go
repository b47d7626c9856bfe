package store

import "github.com/cespare/xxhash/v2"

// node is the root of a treap: its keys are in order from left to right, its
// places from the root to the leaves.
type node[K ~string, V any] struct {
	key         K
	priority    uint32
	size        uint32
	value       V
	left, right *node[K, V]
	draft       *Draft // that may change the node
}

// place is a key with its priority, which decide where in a treap it is.
type place[K ~string] struct {
	key      K
	priority uint32
}

func priority[K ~string](key K) uint32 { return uint32(xxhash.Sum64String(string(key))) }

// above orders places from root to leaf; ties are broken so that the shape is unique.
func (p place[K]) above(other place[K]) bool {
	if p.priority != other.priority {
		return p.priority > other.priority
	}
	return p.key < other.key
}

func (n *node[K, V]) place() place[K] { return place[K]{n.key, n.priority} }

func (n *node[K, V]) len() int {
	if n == nil {
		return 0
	}
	return int(n.size)
}

// with returns n with other children.
func (n *node[K, V]) with(d *Draft, left, right *node[K, V]) *node[K, V] {
	if d == nil || n.draft != d {
		n = &node[K, V]{key: n.key, priority: n.priority, value: n.value, draft: d}
	}
	n.left, n.right = left, right
	n.size = uint32(left.len() + right.len() + 1)
	return n
}

// set returns the tree in which the key of p has the value.
func (n *node[K, V]) set(d *Draft, p place[K], value V) *node[K, V] {
	switch {
	case n != nil && n.key == p.key:
		n = n.with(d, n.left, n.right)
		n.value = value // with made the node, or the draft may change it
		return n
	case n == nil || p.above(n.place()): // then the key is nowhere in the tree
		less, greater := n.split(d, p.key)
		size := uint32(less.len() + greater.len() + 1)
		return &node[K, V]{p.key, p.priority, size, value, less, greater, d}
	case p.key < n.key:
		return n.with(d, n.left.set(d, p, value), n.right)
	default:
		return n.with(d, n.left, n.right.set(d, p, value))
	}
}

// delete returns the tree without a key that is there.
func (n *node[K, V]) delete(d *Draft, key K) *node[K, V] {
	switch {
	case n.key == key:
		return merge(d, n.left, n.right)
	case key < n.key:
		return n.with(d, n.left.delete(d, key), n.right)
	default:
		return n.with(d, n.left, n.right.delete(d, key))
	}
}

// split returns the trees of the keys less and greater than key.
func (n *node[K, V]) split(d *Draft, key K) (less, greater *node[K, V]) {
	switch {
	case n == nil:
		return nil, nil
	case n.key == key:
		return n.left, n.right
	case n.key < key:
		less, greater = n.right.split(d, key)
		return n.with(d, n.left, less), greater
	default:
		less, greater = n.left.split(d, key)
		return less, n.with(d, greater, n.right)
	}
}

// merge joins two trees; all keys of left are less than those of right.
func merge[K ~string, V any](d *Draft, left, right *node[K, V]) *node[K, V] {
	switch {
	case left == nil:
		return right
	case right == nil:
		return left
	case left.place().above(right.place()):
		return left.with(d, left.left, merge(d, left.right, right))
	default:
		return right.with(d, merge(d, left, right.left), right.right)
	}
}
