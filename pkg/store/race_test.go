package store_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// TestReadersAndBranches: any number of goroutines read one View, compare it and
// make Views from it, and it stays as it was. Its use is under -race.
func TestReadersAndBranches(t *testing.T) {
	views := chain(store.View{}, 100)
	base := views[100]
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			branch := base
			for i := range 200 {
				branch = branch.Apply(edit(i%11, -g), edit(100+i, g))
				for c := range store.Diff(base, branch) {
					if old, _ := base.Get(c.Key); old != c.Old {
						t.Errorf("%s was %v, then %v", c.Key, old, c.Old)
					}
				}
			}
			if !branch.DescendsFrom(base) && len(slices.Collect(store.Diff(base, branch))) < 200 {
				t.Error("a branch lost its edits")
			}
		})
	}
	all.Wait()
	require(t, "length of the shared view", 7, base.Len("Service"))
}
