package derive_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// question is one way to read; the function of a graph asks it and nothing else.
type question struct {
	name string
	ask  func(c *derive.Ctx, of derive.Collection[int], by derive.Index[int])
	// reruns names the changes after which the answer is another.
	reruns map[string]bool
}

// The members of bucket "b" are m1 to m4; "x" is in no bucket.
var answerChanges = map[string]store.Edit{
	"first member changes":  number("m1", 11),
	"second member changes": number("m2", 12),
	"last member changes":   number("m4", 14),
	"member joins in front": number("m0", 10),
	"member joins behind":   number("m9", 19),
	"first member leaves":   number("m1", 0),
	"last member goes":      gone("m4"),
	"another bucket's":      number("n1", 99),
	"key read changes":      number("x", 5),
	"key read goes":         gone("x"),
}

func number(name string, v int) store.Edit {
	return store.Edit{Collection: "n", Name: name, Value: v}
}

func gone(name string) store.Edit { return store.Edit{Collection: "n", Name: name} }

// after names changes.
func after(names ...string) map[string]bool {
	m := map[string]bool{}
	for _, name := range names {
		m[name] = true
	}
	return m
}

var questions = []question{
	{"Get", func(c *derive.Ctx, of derive.Collection[int], _ derive.Index[int]) { derive.Get(c, of, "x") }, after("key read changes", "key read goes")},
	{"Has", func(c *derive.Ctx, of derive.Collection[int], _ derive.Index[int]) { derive.Has(c, of, "x") }, after("key read goes")},
	{"Has of an absent key", func(c *derive.Ctx, of derive.Collection[int], _ derive.Index[int]) { derive.Has(c, of, "m9") }, after("member joins behind")},
	{
		"Prefix",
		func(c *derive.Ctx, of derive.Collection[int], _ derive.Index[int]) { derive.Prefix(c, of, "m") },
		after("first member changes", "second member changes", "last member changes", "member joins in front",
			"member joins behind", "first member leaves", "last member goes"),
	},
	{"Exists", func(c *derive.Ctx, _ derive.Collection[int], by derive.Index[int]) { derive.Exists(c, by, "b") }, nil},
	{
		"Size",
		func(c *derive.Ctx, _ derive.Collection[int], by derive.Index[int]) { derive.Size(c, by, "b") },
		after("member joins in front", "member joins behind", "first member leaves", "last member goes"),
	},
	{
		"First 1",
		func(c *derive.Ctx, _ derive.Collection[int], by derive.Index[int]) { derive.First(c, by, "b", 1) },
		after("first member changes", "member joins in front", "first member leaves"),
	},
	{
		"First 2",
		func(c *derive.Ctx, _ derive.Collection[int], by derive.Index[int]) { derive.First(c, by, "b", 2) },
		after("first member changes", "second member changes", "member joins in front", "first member leaves"),
	},
	{"First 0", func(c *derive.Ctx, _ derive.Collection[int], by derive.Index[int]) { derive.First(c, by, "b", 0) }, nil},
	{
		"Keys",
		func(c *derive.Ctx, _ derive.Collection[int], by derive.Index[int]) { derive.Keys(c, by, "b") },
		after("member joins in front", "member joins behind", "first member leaves", "last member goes"),
	},
	{
		"All",
		func(c *derive.Ctx, _ derive.Collection[int], by derive.Index[int]) { derive.All(c, by, "b") },
		after("first member changes", "second member changes", "last member changes", "member joins in front",
			"member joins behind", "first member leaves", "last member goes"),
	},
}

// TestRunsAgainOnlyWhenTheAnswerChanges asks each question and makes each change.
func TestRunsAgainOnlyWhenTheAnswerChanges(t *testing.T) {
	base := store.View{}.Apply(number("m1", 1), number("m2", 2), number("m3", 3), number("m4", 4), number("n1", 9), number("x", 7),
		store.Edit{Collection: "asker", Name: "one", Value: true})
	for _, q := range questions {
		g := asking(q)
		state := g.Eval(derive.State{}, base).State
		for name, edit := range answerChanges {
			t.Run(fmt.Sprintf("%s/%s", q.name, name), func(t *testing.T) {
				ran := g.Eval(state, base.Apply(edit)).Work.Functions["asker"] > 0
				if ran != q.reruns[name] {
					t.Errorf("ran again: %t, want %t", ran, q.reruns[name])
				}
			})
		}
	}
}

func asking(q question) *derive.Graph {
	g := derive.New()
	askers, numbers := derive.Input[bool](g, "asker"), derive.Input[int](g, "n")
	by := derive.Group(g, "by", numbers, func(key string, v int) []string {
		if v == 0 || key == "x" {
			return nil
		}
		return []string{map[bool]string{true: "b", false: "other"}[key[0] == 'm']}
	})
	derive.Map(g, "asker", askers, func(c *derive.Ctx, _ string, _ bool) (int, bool) {
		q.ask(c, numbers, by)
		return 0, true
	})
	return g
}

// TestAnswersAreShared: when the 3,001st route comes to a service, nobody runs who
// only asked whether it has routes.
func TestAnswersAreShared(t *testing.T) {
	g := derive.New()
	routes := derive.Input[string](g, "route")
	byService := derive.Group(g, "by-service", routes, func(_, service string) []string { return []string{service} })
	derive.Map(g, "siblings", routes, func(c *derive.Ctx, _, service string) (bool, bool) {
		return derive.Exists(c, byService, service), true
	})
	route := func(i int) store.Edit {
		return store.Edit{Collection: "route", Name: fmt.Sprintf("r-%05d", i), Value: "shared"}
	}
	var batch []store.Edit
	for i := range 3_000 {
		batch = append(batch, route(i))
	}
	view := store.View{}.Apply(batch...)
	state := g.Eval(derive.State{}, view).State
	want := derive.Work{Functions: map[string]int{"by-service": 1, "siblings": 1}}
	if diff := cmp.Diff(want, g.Eval(state, view.Apply(route(3_000))).Work); diff != "" {
		t.Errorf("work (-want +got):\n%s", diff)
	}
}
