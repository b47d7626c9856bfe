package derive_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// TestOrigins: a fault far from the View names the values that may have caused it.
func TestOrigins(t *testing.T) {
	g := derive.New()
	words, numbers := derive.Input[string](g, "word"), derive.Input[int](g, "n")
	upper := derive.Project(g, "upper", words, func(_, v string) string { return v + "!" })
	parts := derive.Expand(g, "parts", upper, func(c *derive.Ctx, key, v string) []derive.Item[string] {
		derive.Get(c, numbers, v)
		return []derive.Item[string]{{Key: "x", Value: v}}
	})
	byWord := derive.Group(g, "by word", parts, func(_, v string) []string { return []string{v} })
	sums := derive.Reduce(g, "sums", byWord, func(c *derive.Ctx, b string) (int, bool) { return len(derive.All(c, byWord, b)), true })
	derive.Map(g, "judge", numbers, func(c *derive.Ctx, key string, _ int) (int, bool) {
		if v, _ := derive.Get(c, sums, "a!"); v == 2 && key == "bad" {
			panic("two")
		}
		derive.Exists(c, byWord, "b!")
		derive.First(c, byWord, "b!", 1)
		derive.Size(c, byWord, "c!")
		derive.Prefix(c, numbers, "y")
		return 0, true
	})
	state := g.Eval(derive.State{}, store.View{}.Apply(
		word("1", "a"), word("2", "a"), word("3", "b"), word("4", "b"), word("5", "c"),
		number("bad", 1), number("good", 1), number("y1", 1), number("z", 1))).State
	fault := state.Faults()[0]
	for _, c := range []struct {
		node, key string
		want      []string
	}{
		{fault.Node, fault.Key, []string{"n a!", "n bad", "word 1", "word 2"}},
		{"judge", "good", []string{"n a!", "n b!", "n c!", "n good", "n y1", "word 1", "word 2", "word 3", "word 5"}},
		{"by word", "3|x", []string{"n b!", "word 3"}},
		{"parts", "3", []string{"n b!", "word 3"}},
		{"no such node", "3", nil},
	} {
		var got []string
		for _, k := range state.Origins(c.node, c.key) {
			got = append(got, k.String())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("origins of %s %s (-want +got):\n%s", c.node, c.key, diff)
		}
	}
	if got := (derive.State{}).Origins("judge", "good"); len(got) > 0 {
		t.Errorf("the zero state has origins %v", got)
	}
}
