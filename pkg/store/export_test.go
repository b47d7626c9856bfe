package store

import "fmt"

// Shape prints the tree of a Map.
func Shape[K ~string, V any](m Map[K, V]) string { return m.root.shape() }

func (n *node[K, V]) shape() string {
	if n == nil {
		return "."
	}
	return fmt.Sprintf("(%s %v %s %s)", n.key, n.value, n.left.shape(), n.right.shape())
}

// Depth returns the length of the longest path in a Map's tree.
func Depth[K ~string, V any](m Map[K, V]) int { return m.root.depth() }

func (n *node[K, V]) depth() int {
	if n == nil {
		return 0
	}
	return 1 + max(n.left.depth(), n.right.depth())
}

// Remembered returns how many batches and keys a View's journal holds.
func Remembered(v View) (batches, keys int) {
	for _, e := range []*entry{v.state().journal.recent, v.state().journal.older} {
		for ; e != nil; e = e.previous {
			batches++
			keys += len(e.keys)
		}
	}
	return batches, keys
}

// Priority returns the priority of a key.
func Priority(key string) uint32 { return priority(key) }
