package derive

import (
	"maps"
	"slices"
	"strings"
)

// evaluateMap runs the function of a Map for its stale keys.
func (e *evaluation) evaluateMap(n *node) {
	for _, key := range e.staleKeys(n, e.sourceChanges(n)) {
		var v any
		ok := false
		if e.next.has(n.src, key) {
			e.run(n, key, func(c *Ctx) {
				src, _ := e.next.value(n.src, key)
				v, ok = e.produced(n)(n.mapper(c, key, src))
			})
		} else {
			e.forget(n, key)
		}
		e.setValue(n, key, v, ok)
	}
}

// evaluateReduce runs the function of a Reduce for its stale buckets.
func (e *evaluation) evaluateReduce(n *node) {
	changed := func(yield func(string)) {
		for _, b := range e.touched[n.src.id] {
			if b.existed() != b.exists() {
				yield(b.bucket)
			}
		}
	}
	for _, bucket := range e.staleKeys(n, changed) {
		var v any
		ok := false
		if e.next.bucket(n.src, bucket).Len() > 0 {
			e.run(n, bucket, func(c *Ctx) { v, ok = e.produced(n)(n.reduce(c, bucket)) })
		} else {
			e.forget(n, bucket)
		}
		e.setValue(n, bucket, v, ok)
	}
}

// evaluateExpand runs the function of an Expand for its stale source keys, and
// then settles every joined key that one of them has or had.
func (e *evaluation) evaluateExpand(n *node) {
	t := &e.next.tables[n.id]
	joined := map[string]struct{}{}
	for _, key := range e.staleKeys(n, e.sourceChanges(n)) {
		var items []Item[any]
		if e.next.has(n.src, key) {
			e.run(n, key, func(c *Ctx) { items = e.expanded(n, c, key) })
		} else {
			e.forget(n, key)
		}
		old, _ := t.items.Get(key)
		for _, list := range [][]Item[any]{old, items} {
			for _, item := range list {
				joined[JoinKey(key, item.Key)] = struct{}{}
			}
		}
		if len(items) > 0 {
			t.items = t.items.Set(key, items)
		} else {
			t.items = t.items.Delete(key)
		}
	}
	for _, key := range sortedKeys(joined) {
		v, ok := t.owned(key)
		e.setValue(n, key, v, ok)
	}
}

// expanded calls the function of an Expand and returns its items in order.
func (e *evaluation) expanded(n *node, c *Ctx, key string) []Item[any] {
	src, _ := e.next.value(n.src, key)
	items := n.expand(c, key, src)
	sortItems(items)
	for i, item := range items {
		if i > 0 && items[i-1].Key == item.Key {
			panic("two items have the key " + item.Key)
		}
		e.produced(n)(item.Value, true)
	}
	return items
}

// owned returns the value of a joined key: that of the shortest source key that made it.
func (t *table) owned(joined string) (any, bool) {
	for i := range len(joined) {
		if joined[i] != '|' {
			continue
		}
		items, _ := t.items.Get(joined[:i])
		if v, ok := findItem(items, joined[i+1:]); ok {
			return v, true
		}
	}
	return nil, false
}

// produced counts a value that a function of n returned.
func (e *evaluation) produced(n *node) func(v any, ok bool) (any, bool) {
	return func(v any, ok bool) (any, bool) {
		if ok && n.bytes != nil {
			e.work.Bytes += n.bytes(v)
		}
		return v, ok
	}
}

// setValue stores what a key of n has now, and notes the change if it is one.
// Keys come in order.
func (e *evaluation) setValue(n *node, key string, v any, ok bool) {
	t := &e.next.tables[n.id]
	old, had := t.values.Get(key)
	switch {
	case !had && !ok, had && ok && n.equal(old, v):
		return
	case ok:
		t.values = t.values.Set(key, v)
	default:
		t.values = t.values.Delete(key)
	}
	e.changes[n.id] = append(e.changes[n.id], change{key, old, v, had, ok})
}

func sortedKeys(keys map[string]struct{}) []string { return slices.Sorted(maps.Keys(keys)) }

func sortItems(items []Item[any]) {
	slices.SortFunc(items, func(a, b Item[any]) int { return strings.Compare(a.Key, b.Key) })
}

// findItem looks a key up in ordered items.
func findItem(items []Item[any], key string) (any, bool) {
	i, ok := slices.BinarySearchFunc(items, key, func(item Item[any], key string) int {
		return strings.Compare(item.Key, key)
	})
	if !ok {
		return nil, false
	}
	return items[i].Value, true
}
