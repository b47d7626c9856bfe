package store_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

func key(i int) store.Key {
	return store.Key{Collection: "Service", Name: fmt.Sprintf("shop/s-%06d", i)}
}

func edit(i, value int) store.Edit { return store.Edit{Key: key(i), Value: value} }

// chain applies n batches of one edit each and returns every View on the way.
func chain(v store.View, n int) []store.View {
	views := []store.View{v}
	for i := range n {
		v = v.Apply(edit(i%7, i+1))
		views = append(views, v)
	}
	return views
}

// TestJournalIsBounded: a View remembers at least 64 and at most 128 batches.
func TestJournalIsBounded(t *testing.T) {
	for i, v := range chain(store.View{}, 1_000) {
		batches, _ := store.Remembered(v)
		if batches > 128 || batches < min(i, 64) {
			t.Fatalf("%d batches remembered of %d", batches, i)
		}
	}
}

// TestJournalDoesNotKeepManyKeys: large batches are compared by their roots, and
// ancestry is known all the same.
func TestJournalDoesNotKeepManyKeys(t *testing.T) {
	before := store.View{}.Apply(edit(0, 1))
	var batch []store.Edit
	for i := range 10_000 {
		batch = append(batch, edit(i, 2))
	}
	after := before.Apply(batch...).Apply(edit(3, 4))
	if _, keys := store.Remembered(after); keys > 10 {
		t.Errorf("%d keys remembered", keys)
	}
	require(t, "descends", true, after.DescendsFrom(before))
	require(t, "changes", 10_000, len(slices.Collect(store.Diff(before, after))))
}

// TestOldAncestors: what is forgotten is reported as no ancestor, and differs all the same.
func TestOldAncestors(t *testing.T) {
	views := chain(store.View{}, 300)
	last := views[300]
	require(t, "descends from the View 64 batches back", true, last.DescendsFrom(views[236]))
	require(t, "descends from a forgotten View", false, last.DescendsFrom(views[1]))
	require(t, "descends from the empty View", true, last.DescendsFrom(views[0]))
	want := []store.Change{{Key: key(0), Old: 1, New: 295}}
	require(t, "first change", want, slices.Collect(store.Diff(views[1], last))[:1])
}

// TestDiffIsNet: what was changed and changed back is no difference, in both directions.
func TestDiffIsNet(t *testing.T) {
	base := store.View{}.Apply(edit(1, 1), edit(2, 1))
	there := base.Apply(edit(1, 5), edit(3, 1)).Apply(edit(2, 7))
	back := there.Apply(edit(1, 1), store.Edit{Key: key(3)})
	require(t, "forwards", []store.Change{{Key: key(2), Old: 1, New: 7}}, slices.Collect(store.Diff(base, back)))
	require(t, "backwards", []store.Change{{Key: key(2), Old: 7, New: 1}}, slices.Collect(store.Diff(back, base)))
}

// TestSiblingIsNoAncestor: neither of two trials on one View descends from the
// other, however equal they are.
func TestSiblingIsNoAncestor(t *testing.T) {
	base := store.View{}.Apply(edit(1, 1))
	a, b := base.Apply(edit(1, 2)), base.Apply(edit(1, 2))
	require(t, "ancestry", []bool{false, false, true, true},
		[]bool{a.DescendsFrom(b), b.DescendsFrom(a), a.DescendsFrom(base), b.DescendsFrom(base)})
	child := b.Apply(edit(2, 2))
	require(t, "ancestry of a child", []bool{false, true}, []bool{child.DescendsFrom(a), child.DescendsFrom(b)})
	require(t, "difference", 0, len(slices.Collect(store.Diff(a, b))))
}

// TestDiffOfBatchesOfManySizes finds every change, whichever batch made the edits too many.
func TestDiffOfBatchesOfManySizes(t *testing.T) {
	base := store.View{}.Apply(edit(0, 1))
	view, edited := base, 0
	for _, size := range []int{2, 10, 60, 1, 100, 3} {
		var batch []store.Edit
		for range size {
			edited++
			batch = append(batch, edit(edited, 1))
		}
		view = view.Apply(batch...)
		require(t, "changes", edited, len(slices.Collect(store.Diff(base, view))))
		require(t, "changes backwards", edited, len(slices.Collect(store.Diff(view, base))))
	}
}
