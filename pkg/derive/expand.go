package derive

import (
	"fmt"
	"slices"
	"strings"
)

// Expand derives any number of values per key of src. The key of each is
// JoinKey(source key, item key); item keys are unique within one call. Where two
// source keys make the same joined key, the shorter source key has it.
func Expand[S, V any](g *Graph, name string, src Collection[S], f func(c *Ctx, key string, src S) []Item[V], opts ...Option[V]) Collection[V] {
	n := derived(name, expandNode, src.node, opts)
	n.expand = func(c *Ctx, key string, src any) []Item[any] {
		items := f(c, key, as[S](src))
		boxed := make([]Item[any], len(items))
		for i, item := range items {
			boxed[i] = Item[any]{item.Key, item.Value}
		}
		return boxed
	}
	return Collection[V]{g.add(n)}
}

// JoinKey is the key of an expanded value: source, "|", item.
func JoinKey(source, item string) string { return source + "|" + item }

// evaluateExpand runs the function of an Expand for its stale source keys, and
// then settles every joined key that one of them has or had.
func (e *evaluation) evaluateExpand(n *node) {
	t := &e.next.tables[n.id]
	var joined []string
	e.markSourceChanges(n)
	for _, key := range e.stale(n) {
		old, _ := t.items.Get(key)
		items := e.expand(n, key)
		for _, item := range slices.Concat(old, items) {
			joined = append(joined, JoinKey(key, item.Key))
		}
		put(e, &t.items, key, items, len(items) > 0)
	}
	slices.Sort(joined)
	for _, key := range slices.Compact(joined) {
		v, ok := t.item(key)
		e.setValue(n, key, v, ok)
	}
}

// expand returns the items of a source key in order.
func (e *evaluation) expand(n *node, key string) []Item[any] {
	if !e.next.has(n.src, key) {
		e.forget(n, key)
		return nil
	}
	var items []Item[any]
	ok := e.run(n, key, func(c *Ctx) bool {
		src, _ := e.next.value(n.src, key)
		items = n.expand(c, key, src)
		slices.SortFunc(items, func(a, b Item[any]) int { return strings.Compare(a.Key, b.Key) })
		for i, item := range items {
			if i > 0 && items[i-1].Key == item.Key {
				panic(fmt.Sprintf("two items have the key %q", item.Key))
			}
			e.count(n, item.Value)
		}
		return true
	})
	if !ok {
		return nil
	}
	return items
}

// item returns the value of a joined key: that of the shortest source key that has it.
func (t *table) item(joined string) (any, bool) {
	for _, source := range t.sources(joined) {
		items, _ := t.items.Get(source)
		if at, ok := findItem(items, joined[len(JoinKey(source, "")):]); ok {
			return items[at].Value, true
		}
	}
	return nil, false
}

// sources returns the source keys with items that a joined key may be of, the shortest first.
func (t *table) sources(joined string) (sources []string) {
	for i := range len(joined) {
		if joined[i] == '|' && t.items.Has(joined[:i]) {
			sources = append(sources, joined[:i])
		}
	}
	return sources
}

// findItem looks a key up in ordered items.
func findItem(items []Item[any], key string) (int, bool) {
	return slices.BinarySearchFunc(items, key, func(item Item[any], key string) int {
		return strings.Compare(item.Key, key)
	})
}
