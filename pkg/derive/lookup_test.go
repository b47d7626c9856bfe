package derive_test

import (
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// TestReadersStopWhenAsked: every iterator over a State or a Delta stops at its
// consumer's break.
func TestReadersStopWhenAsked(t *testing.T) {
	l := newGateway()
	result := l.graph.Eval(derive.State{}, routesAndServices(50))
	s := result.State
	for name, all := range map[string]iter.Seq2[string, any]{
		"Items":           anyValues(derive.Items(s, l.attached)),
		"ItemsWithPrefix": anyValues(derive.ItemsWithPrefix(s, l.attached, "shop/r-00001")),
		"Buckets":         anyValues(derive.Buckets(s, l.byHost)),
		"Bucket":          anyValues(derive.Bucket(s, l.byHost, "h-000000.example")),
		"Changes": func(yield func(string, any) bool) {
			for c := range derive.Changes(result.Delta, l.attached) {
				if !yield(c.Key, c.New) {
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			seen := 0
			for range all {
				if seen++; seen == 3 {
					break
				}
			}
			if seen != 3 {
				t.Errorf("%d seen, want 3", seen)
			}
		})
	}
}

func anyValues[V any](all iter.Seq2[string, V]) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for key, v := range all {
			if !yield(key, v) {
				return
			}
		}
	}
}

// TestItemsWithPrefix are those of the key range, in order.
func TestItemsWithPrefix(t *testing.T) {
	l := newGateway()
	s := l.graph.Eval(derive.State{}, routesAndServices(50)).State
	var got []string
	for key := range derive.ItemsWithPrefix(s, l.attached, "shop/r-00004") {
		got = append(got, key)
	}
	want := []string{}
	for i := 40; i < 50; i++ {
		want = append(want, routeKey(i).Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

// TestZeroState is the evaluation of the empty View, and the zero Delta has no changes.
func TestZeroState(t *testing.T) {
	l := newGateway()
	empty := l.graph.Eval(derive.State{}, store.View{}).State
	for _, s := range []derive.State{{}, empty} {
		_, found := derive.Lookup(s, l.tables, "h")
		if found || len(values(s, l.tables))+len(buckets(s, l.byHost))+len(s.Faults())+len(s.Wants()) > 0 {
			t.Errorf("an empty state shows %v", values(s, l.tables))
		}
	}
	for c := range derive.Changes(derive.Delta{}, l.tables) {
		t.Errorf("the zero delta has %v", c)
	}
}

// TestProjectionIsRead by key like any collection.
func TestProjectionIsRead(t *testing.T) {
	g := derive.New()
	numbers := derive.Input[int](g, "n")
	doubled := derive.Project(g, "doubled", numbers, func(_ string, v int) int { return 2 * v })
	again := derive.Project(g, "again", doubled, func(_ string, v int) int { return 10 * v })
	partner := derive.Map(g, "partner", numbers, func(c *derive.Ctx, key string, _ int) (int, bool) {
		return derive.Get(c, again, key+key)
	})
	view := store.View{}.Apply(number("a", 1), number("b", 2), number("aa", 3))
	state := g.Eval(derive.State{}, view).State
	if diff := cmp.Diff(map[string]string{"a": "60"}, values(state, partner)); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	changed := g.Eval(state, view.Apply(number("bb", 4)))
	if diff := cmp.Diff(map[string]string{"a": "60", "b": "80"}, values(changed.State, partner)); diff != "" {
		t.Errorf("values after a change (-want +got):\n%s", diff)
	}
}
