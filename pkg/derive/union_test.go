package derive_test

import (
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// unionGraph shows two kinds of numbers as one, and derives from that.
type unionGraph struct {
	*derive.Graph
	both, tens derive.Collection[int]
	sums       derive.Collection[string]
}

func newUnion() unionGraph {
	g := derive.New()
	odd := func(name string) derive.Collection[int] {
		return derive.Map(g, "odd "+name, derive.Input[int](g, name), func(_ *derive.Ctx, _ string, n int) (int, bool) { return n, n%2 == 1 })
	}
	u := unionGraph{Graph: g}
	u.both = derive.Union(g, "both", derive.Part[int]{Prefix: "a ", Of: odd("a")}, derive.Part[int]{Prefix: "b ", Of: odd("b")})
	u.tens = derive.Map(g, "tens", u.both, func(_ *derive.Ctx, _ string, n int) (int, bool) { return 10 * n, true })
	byValue := derive.Group(g, "by value", u.both, func(_ string, n int) []string { return []string{fmt.Sprint(n)} })
	u.sums = derive.Reduce(g, "who", byValue, func(c *derive.Ctx, bucket string) (string, bool) {
		return fmt.Sprint(derive.Keys(c, byValue, bucket), len(derive.Prefix(c, u.both, "b "))), true
	})
	return u
}

func (u unionGraph) shown(s derive.State) string {
	return fmt.Sprint(maps.Collect(derive.Items(s, u.both)), maps.Collect(derive.Items(s, u.tens)), maps.Collect(derive.Items(s, u.sums)))
}

// TestUnion: whatever was edited before, a union has what its parts have, and
// what derives from it is as if evaluated from nothing.
func TestUnion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := newUnion()
		var view store.View
		var state derive.State
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			edit := store.Edit{Collection: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "part"), Name: rapid.SampledFrom([]string{"x", "y", "b x"}).Draw(t, "name")}
			if n := rapid.IntRange(0, 5).Draw(t, "value"); n > 0 {
				edit.Value = n
			}
			view = view.Apply(edit)
			result := u.Eval(state, view)
			state = result.State
			if got, want := u.shown(state), u.shown(u.Eval(derive.State{}, view).State); got != want {
				t.Fatalf("step by step %s, from nothing %s", got, want)
			}
			want := map[string]int{}
			for _, part := range []string{"a", "b"} {
				for name, v := range view.Prefix(part, "") {
					if v.(int)%2 == 1 {
						want[part+" "+name] = v.(int)
					}
				}
			}
			if got := maps.Collect(derive.Items(state, u.both)); !maps.Equal(got, want) {
				t.Fatalf("the union is %v, want %v", got, want)
			}
		}
	})
}

// TestUnionKnowsOrigins: what derives from a union comes from the objects behind it.
func TestUnionKnowsOrigins(t *testing.T) {
	u := newUnion()
	s := u.Eval(derive.State{}, store.View{}.Apply(store.Edit{Collection: "b", Name: "x", Value: 3})).State
	if got := fmt.Sprint(s.Origins("tens", "b x")); got != "[b x]" {
		t.Errorf("the origins are %s, want [b x]", got)
	}
}

// TestUnionsThatCannotBe: parts whose keys could meet are a programming error.
func TestUnionsThatCannotBe(t *testing.T) {
	for name, prefixes := range map[string][]string{"out of order": {"b", "a"}, "one begins the other": {"a", "ab"}, "the same": {"a", "a"}, "nothing": nil} {
		t.Run(name, func(t *testing.T) {
			g := derive.New()
			in := derive.Map(g, "in", derive.Input[int](g, "n"), func(_ *derive.Ctx, _ string, n int) (int, bool) { return n, true })
			var parts []derive.Part[int]
			for _, p := range prefixes {
				parts = append(parts, derive.Part[int]{Prefix: p, Of: in})
			}
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			derive.Union(g, "union", parts...)
		})
	}
}
