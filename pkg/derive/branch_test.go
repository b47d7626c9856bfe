package derive_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// TestBranchesAtOnce: goroutines evaluate branches of one State at the same time,
// each with the outcome that it has alone. Its use is under -race.
func TestBranchesAtOnce(t *testing.T) {
	l := newGateway()
	view := routesAndServices(200)
	base := l.graph.Eval(derive.State{}, view).State
	want := values(base, l.tables)
	var all sync.WaitGroup
	for branch := range 8 {
		all.Go(func() {
			state, v := base, view
			for i := range 20 {
				v = v.Apply(store.Edit{Key: routeKey(i), Value: newRoute(i, branch+1)})
				state = l.graph.Eval(state, v).State
			}
			alone := l.graph.Eval(derive.State{}, v).State
			if diff := cmp.Diff(values(alone, l.tables), values(state, l.tables)); diff != "" {
				t.Errorf("branch %d (-alone +at once):\n%s", branch, diff)
			}
		})
	}
	all.Wait()
	if diff := cmp.Diff(want, values(base, l.tables)); diff != "" {
		t.Errorf("the shared state changed (-want +got):\n%s", diff)
	}
}

// TestStopsAtEqualValues: values that an option or their own method holds equal go no further.
func TestStopsAtEqualValues(t *testing.T) {
	for name, double := range map[string]func(g *derive.Graph, in derive.Collection[int]) derive.Collection[parity]{
		"own method": func(g *derive.Graph, in derive.Collection[int]) derive.Collection[parity] {
			return derive.Map(g, "parity", in, parityOf)
		},
		"option": func(g *derive.Graph, in derive.Collection[int]) derive.Collection[parity] {
			return derive.Map(g, "parity", in, parityOf, derive.EqualFunc(func(a, b parity) bool { return a.Equal(b) }))
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := derive.New()
			parities := double(g, derive.Input[int](g, "n"))
			derive.Map(g, "reader", parities, func(*derive.Ctx, string, parity) (int, bool) { return 0, true })
			view := store.View{}.Apply(number("a", 1))
			state := g.Eval(derive.State{}, view).State
			for v, want := range map[int]int{3: 0, 4: 1} {
				if got := g.Eval(state, view.Apply(number("a", v))).Work.Functions["reader"]; got != want {
					t.Errorf("at %d the reader ran %d times, want %d", v, got, want)
				}
			}
		})
	}
}

// parity is of a number, which does not count when two are compared.
type parity struct {
	of  int
	odd bool
}

func (p parity) Equal(other parity) bool { return p.odd == other.odd }

func parityOf(_ *derive.Ctx, _ string, n int) (parity, bool) { return parity{n, n%2 == 1}, true }

// TestComparisonThatPanics counts as a difference.
func TestComparisonThatPanics(t *testing.T) {
	g := derive.New()
	equal := func(a, b int) bool { panic(fmt.Sprint(a, b)) }
	out := derive.Map(g, "out", derive.Input[int](g, "n"), func(_ *derive.Ctx, _ string, n int) (int, bool) { return n, true }, derive.EqualFunc(equal))
	view := store.View{}.Apply(number("a", 1))
	state := g.Eval(derive.State{}, view).State
	if v, _ := derive.Lookup(g.Eval(state, view.Apply(number("a", 2))).State, out, "a"); v != 2 {
		t.Errorf("got %d, want 2", v)
	}
}

// TestBytes: produced values are counted, equal ones too.
func TestBytes(t *testing.T) {
	g := derive.New()
	in := derive.Input[int](g, "n")
	size := derive.BytesFunc(func(v string) int { return len(v) })
	derive.Map(g, "map", in, func(*derive.Ctx, string, int) (string, bool) { return "1234", true }, size)
	derive.Map(g, "none", in, func(*derive.Ctx, string, int) (string, bool) { return "1234", false }, size)
	derive.Expand(g, "expand", in, func(*derive.Ctx, string, int) []derive.Item[string] {
		return []derive.Item[string]{{Key: "a", Value: "12"}, {Key: "b", Value: "1"}}
	}, size)
	view := store.View{}.Apply(number("a", 1))
	state := g.Eval(derive.State{}, view).State
	if got := g.Eval(state, view.Apply(number("a", 2))).Work.Bytes; got != 7 {
		t.Errorf("%d bytes, want 7", got)
	}
}

// TestExpandedTwice: an item key that one call returns twice is a fault.
func TestExpandedTwice(t *testing.T) {
	g := derive.New()
	out := derive.Expand(g, "expand", derive.Input[int](g, "n"), func(*derive.Ctx, string, int) []derive.Item[int] {
		return []derive.Item[int]{{Key: "a"}, {Key: "a"}}
	})
	result := g.Eval(derive.State{}, store.View{}.Apply(number("x", 1)))
	if len(result.Faults) != 1 || len(values(result.State, out)) != 0 {
		t.Errorf("got %v and faults %v", values(result.State, out), result.Faults)
	}
}
