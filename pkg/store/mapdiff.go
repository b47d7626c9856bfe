package store

import "iter"

// MapChange is one difference between two Maps; Had and Has tell whether Old and New exist.
type MapChange[K ~string, V any] struct {
	Key      K
	Old, New V
	Had, Has bool
}

// DiffMaps yields what differs from a to b in key order. Values that same reports
// as equal are no difference. What the Maps share is skipped, so that d
// differences between a Map and one made from it cost O(d log n).
func DiffMaps[K ~string, V any](a, b Map[K, V], same func(old, new V) bool) iter.Seq[MapChange[K, V]] {
	return func(yield func(MapChange[K, V]) bool) {
		d := differ[K, V]{same: same, yield: yield}
		d.diff(a.root, b.root)
	}
}

type differ[K ~string, V any] struct {
	same  func(old, new V) bool
	yield func(MapChange[K, V]) bool
}

// diff compares two trees over the same range of keys. The root that is above
// the other has a key that the other tree lacks, so that tree is split there.
func (d *differ[K, V]) diff(a, b *node[K, V]) bool {
	switch {
	case a == b:
		return true
	case a == nil:
		return b.each(d.added)
	case b == nil:
		return a.each(d.removed)
	case a.key == b.key:
		return d.diff(a.left, b.left) && d.changed(a, b) && d.diff(a.right, b.right)
	case a.place().above(b.place()):
		less, greater := b.split(nil, a.key)
		return d.diff(a.left, less) && d.removed(a.key, a.value) && d.diff(a.right, greater)
	default:
		less, greater := a.split(nil, b.key)
		return d.diff(less, b.left) && d.added(b.key, b.value) && d.diff(greater, b.right)
	}
}

func (d *differ[K, V]) added(key K, value V) bool {
	return d.yield(MapChange[K, V]{Key: key, New: value, Has: true})
}

func (d *differ[K, V]) removed(key K, value V) bool {
	return d.yield(MapChange[K, V]{Key: key, Old: value, Had: true})
}

func (d *differ[K, V]) changed(a, b *node[K, V]) bool {
	if d.same(a.value, b.value) {
		return true
	}
	return d.yield(MapChange[K, V]{Key: a.key, Old: a.value, New: b.value, Had: true, Has: true})
}
