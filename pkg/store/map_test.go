package store_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

type ints = store.Map[string, int]

var mapKeys = rapid.StringOfN(rapid.RuneFrom([]rune("ab/|\x00é")), 0, 4, -1)

// TestMapAgainstModel edits a Map and a plain map alike; the old Maps must stay as they were.
func TestMapAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, model := ints{}, map[string]int{}
		versions, models := []ints{m}, []map[string]int{maps.Clone(model)}
		draft := []*store.Draft{nil, new(store.Draft)}[rapid.IntRange(0, 1).Draw(t, "draft")]
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				key, value := mapKeys.Draw(t, "key"), rapid.IntRange(0, 3).Draw(t, "value")
				m, model[key] = m.SetIn(draft, key, value), value
			},
			"delete": func(t *rapid.T) {
				key := mapKeys.Draw(t, "key")
				m = m.DeleteIn(draft, key)
				delete(model, key)
			},
			"keep": func(t *rapid.T) {
				versions, models = append(versions, m), append(models, maps.Clone(model))
				if draft != nil {
					draft = new(store.Draft) // what is kept must not change any more
				}
			},
			"": func(t *rapid.T) { requireMap(t, model, m) },
		})
		for i, kept := range versions {
			requireMap(t, models[i], kept)
			requireDiff(t, models[i], model, kept, m)
			requireDiff(t, model, models[i], m, kept)
		}
	})
}

// requireMap compares every way to read a Map with a plain map.
func requireMap(t *rapid.T, model map[string]int, m ints) {
	t.Helper()
	keys := slices.Sorted(maps.Keys(model))
	probe := mapKeys.Draw(t, "probe")
	at, _ := slices.BinarySearch(keys, probe)
	want := func(keep func(key string) bool) (pairs []string) {
		for _, key := range keys {
			if keep(key) {
				pairs = append(pairs, fmt.Sprint(key, "=", model[key]))
			}
		}
		return pairs
	}
	value, ok := m.Get(probe)
	wantValue, wantOK := model[probe]
	require(t, "Get", []any{wantValue, wantOK, wantOK}, []any{value, ok, m.Has(probe)})
	require(t, "Len and Rank", []int{len(keys), at}, []int{m.Len(), m.Rank(probe)})
	require(t, "All", want(func(string) bool { return true }), pairs(m.All()))
	require(t, "From", want(func(key string) bool { return key >= probe }), pairs(m.From(probe)))
	require(t, "Prefix", want(func(key string) bool { return strings.HasPrefix(key, probe) }), pairs(m.Prefix(probe)))
	require(t, "shape", store.Shape(fromScratch(t, model)), store.Shape(m))
}

// fromScratch makes a Map of the same contents in another order.
func fromScratch(t *rapid.T, model map[string]int) (m ints) {
	for _, key := range rapid.Permutation(slices.Sorted(maps.Keys(model))).Draw(t, "order") {
		m = m.Set(key, model[key])
	}
	return m
}

func requireDiff(t *rapid.T, oldModel, newModel map[string]int, before, after ints) {
	t.Helper()
	var want, got []store.MapChange[string, int]
	both := maps.Clone(oldModel)
	maps.Copy(both, newModel)
	for _, key := range slices.Sorted(maps.Keys(both)) {
		was, had := oldModel[key]
		is, has := newModel[key]
		if had != has || was != is {
			want = append(want, store.MapChange[string, int]{Key: key, Old: was, New: is, Had: had, Has: has})
		}
	}
	for c := range store.DiffMaps(before, after, func(a, b int) bool { return a == b }) {
		got = append(got, c)
	}
	require(t, "DiffMaps", want, got)
}

func pairs(all func(func(string, int) bool)) (pairs []string) {
	for key, value := range all {
		pairs = append(pairs, fmt.Sprint(key, "=", value))
	}
	return pairs
}

// tester is what *testing.T and *rapid.T have in common.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

func require[V any](t tester, what string, want, got V) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// TestMapStopsWhenAsked: every iterator stops at its consumer's break.
func TestMapStopsWhenAsked(t *testing.T) {
	m := numbered(100)
	for name, all := range map[string]func(func(string, int) bool){
		"All": m.All(), "From": m.From("k-00010"), "Prefix": m.Prefix("k-"),
		"DiffMaps added":   changedKeys(ints{}, m),
		"DiffMaps removed": changedKeys(m, ints{}),
		"DiffMaps changed": changedKeys(numbered(200).Delete("k-00100"), m),
	} {
		t.Run(name, func(t *testing.T) {
			seen := 0
			for range all {
				if seen++; seen == 3 {
					break
				}
			}
			require(t, "keys seen", 3, seen)
		})
	}
}

func changedKeys(a, b ints) func(func(string, int) bool) {
	return func(yield func(string, int) bool) {
		for c := range store.DiffMaps(a, b, func(a, b int) bool { return a == b }) {
			if !yield(c.Key, c.New) {
				return
			}
		}
	}
}

func numbered(n int) (m ints) {
	for i := range n {
		m = m.Set(fmt.Sprintf("k-%05d", i), i)
	}
	return m
}

// TestMapIsShallow: names that differ in their last digits, as generated names do,
// make no deep tree.
func TestMapIsShallow(t *testing.T) {
	if depth := store.Depth(numbered(40_000)); depth > 50 {
		t.Errorf("depth of 40,000 keys is %d, more than 50", depth)
	}
}

// TestDiffMapsSkipsWhatIsShared counts comparisons: they follow the differences.
func TestDiffMapsSkipsWhatIsShared(t *testing.T) {
	for _, n := range []int{300, 3_000, 30_000} {
		before := numbered(n)
		after := before.Set("k-00042", -1).Delete("k-00100").Set("new", 1)
		compared, changed := 0, 0
		for range store.DiffMaps(before, after, func(a, b int) bool { compared++; return a == b }) {
			changed++
		}
		require(t, "changes", 3, changed)
		if compared > 120 {
			t.Errorf("%d values compared among %d for 3 changes", compared, n)
		}
	}
}

// TestMapShapeOfEqualPriorities: two keys whose hashes collide make one shape too.
func TestMapShapeOfEqualPriorities(t *testing.T) {
	a, b := collision(t)
	require(t, "shape", store.Shape(ints{}.Set(a, 1).Set(b, 2)), store.Shape(ints{}.Set(b, 2).Set(a, 1)))
}

// collision finds two keys of equal priority: among 400,000 there are about 19 pairs.
func collision(t *testing.T) (a, b string) {
	t.Helper()
	seen := map[uint32]string{}
	for i := range 400_000 {
		key := fmt.Sprint(i)
		other, ok := seen[store.Priority(key)]
		if ok {
			return other, key
		}
		seen[store.Priority(key)] = key
	}
	t.Fatal("no two keys collide")
	return "", ""
}
