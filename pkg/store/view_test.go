package store_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

type contents map[store.Key]any

// version is a View, and what it must have.
type version struct {
	view      store.View
	has       contents
	ancestors []int // its place in the history, and those of the Views it was made from
}

var (
	keys = rapid.Custom(func(t *rapid.T) store.Key {
		return store.Key{
			Collection: rapid.SampledFrom([]string{"", "Gateway", "Service"}).Draw(t, "collection"),
			Name:       rapid.SampledFrom([]string{"", "a", "a/b", "a/c", "b", "b/a"}).Draw(t, "name"),
		}
	})
	one, two = new(1), new(2)
	// contested values are equal to each other in every way that must not confuse.
	contested = []any{1, int64(1), "1", one, two, []int{1}, []int{2}, [1]any{[]int{1}}, (*int)(nil)}
	edits     = rapid.Custom(func(t *rapid.T) store.Edit {
		edit := store.Edit{Key: keys.Draw(t, "key")}
		if at := rapid.IntRange(-3, len(contested)-1).Draw(t, "value"); at >= 0 {
			edit.Value = contested[at]
		}
		return edit
	})
)

// TestViewsAgainstModel makes random histories with branches and compares every
// View, and every pair of Views, with plain maps.
func TestViewsAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		history := []version{{has: contents{}, ancestors: []int{0}}}
		pick := func(what string) version { return history[rapid.IntRange(0, len(history)-1).Draw(t, what)] }
		for range rapid.IntRange(0, 12).Draw(t, "steps") {
			from := pick("from")
			var next version
			if rapid.Bool().Draw(t, "substitute") {
				next = substituted(from, pick("other"), rapid.SliceOfN(keys, 0, 4).Draw(t, "keys"))
			} else {
				next = applied(from, rapid.SliceOfN(edits, 0, 6).Draw(t, "batch"))
			}
			if requireBatch(t, from, next) {
				next.ancestors = append(slices.Clone(from.ancestors), len(history))
				history = append(history, next)
			}
		}
		requireHistory(t, history)
	})
}

func applied(from version, batch []store.Edit) version {
	next := version{view: from.view.Apply(batch...), has: maps.Clone(from.has)}
	for _, edit := range batch {
		next.has.set(edit.Key, edit.Value)
	}
	return next
}

func substituted(from, other version, keys []store.Key) version {
	next := version{view: from.view.Substitute(other.view, keys...), has: maps.Clone(from.has)}
	for _, k := range keys {
		next.has.set(k, other.has[k])
	}
	return next
}

func (c contents) set(k store.Key, value any) {
	if value == nil {
		delete(c, k)
	} else {
		c[k] = value
	}
}

// requireBatch tells whether a batch made another View, and checks that it did
// when, and only when, it changed something.
func requireBatch(t *rapid.T, from, next version) bool {
	t.Helper()
	if len(differences(from.has, next.has)) == 0 {
		require(t, "a batch without effect made another view", true, next.view == from.view)
		return false
	}
	require(t, "revision", from.view.Revision()+1, next.view.Revision())
	return true
}

func requireHistory(t *rapid.T, history []version) {
	t.Helper()
	for i, a := range history {
		requireContents(t, a)
		for j, b := range history {
			require(t, "diff", differences(a.has, b.has), printed(slices.Collect(store.Diff(a.view, b.view))))
			descends := slices.Contains(b.ancestors, i)
			require(t, fmt.Sprintf("%d descends from %d", j, i), descends, b.view.DescendsFrom(a.view))
		}
	}
}

func requireContents(t *rapid.T, v version) {
	t.Helper()
	probe := keys.Draw(t, "probe")
	got, ok := v.view.Get(probe)
	require(t, "get", fmt.Sprint(v.has[probe] != nil, v.has[probe]), fmt.Sprint(ok, got))
	var want, names []string
	sizes := map[string]int{}
	for _, k := range slices.SortedFunc(maps.Keys(v.has), store.Key.Compare) {
		sizes[k.Collection]++
		if k.Collection == probe.Collection && strings.HasPrefix(k.Name, probe.Name) {
			want = append(want, k.Name)
		}
	}
	for name := range v.view.Prefix(probe.Collection, probe.Name) {
		names = append(names, name)
	}
	require(t, "prefix", want, names)
	require(t, "len", sizes[probe.Collection], v.view.Len(probe.Collection))
	require(t, "collections", slices.Sorted(maps.Keys(sizes)), slices.Collect(v.view.Collections()))
}

// differences are what differs, computed the long way.
func differences(a, b contents) []string {
	both := maps.Clone(a)
	maps.Copy(both, b)
	var changes []store.Change
	for _, k := range slices.SortedFunc(maps.Keys(both), store.Key.Compare) {
		if !sameContested(a[k], b[k]) {
			changes = append(changes, store.Change{Key: k, Old: a[k], New: b[k]})
		}
	}
	return printed(changes)
}

// sameContested tells by ==, as far as that is defined.
func sameContested(a, b any) (same bool) {
	defer func() {
		if recover() != nil {
			same = reflect.DeepEqual(a, b)
		}
	}()
	return a == b
}

func printed(changes []store.Change) (lines []string) {
	for _, c := range changes {
		lines = append(lines, fmt.Sprintf("%s: %T %v → %T %v", c.Key, c.Old, c.Old, c.New, c.New))
	}
	return lines
}
