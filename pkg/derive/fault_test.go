package derive_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

func word(name, v string) store.Edit {
	return store.Edit{Collection: "word", Name: name, Value: v}
}

// fragile derives the length of each word, and panics at "bad".
func fragile() (*derive.Graph, derive.Collection[int]) {
	g := derive.New()
	words := derive.Input[string](g, "word")
	return g, derive.Map(g, "length", words, func(_ *derive.Ctx, _, v string) (int, bool) {
		if v == "bad" {
			panic(errors.New("bad word"))
		}
		return len(v), true
	})
}

// TestFaultStaysAlone: a panic leaves its key without a value and nothing else.
func TestFaultStaysAlone(t *testing.T) {
	g, lengths := fragile()
	result := g.Eval(derive.State{}, store.View{}.Apply(word("a", "bad"), word("b", "good")))
	if diff := cmp.Diff(map[string]string{"b": "4"}, values(result.State, lengths)); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if len(result.Faults) != 1 || !strings.Contains(string(result.Faults[0].Stack), "fault_test.go") {
		t.Fatalf("faults %v do not have the stack of the panic", result.Faults)
	}
	if got, want := result.Faults[0].String(), `length "a" panicked: bad word`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestFaultStands until its function runs again; other changes do not repeat it.
func TestFaultStands(t *testing.T) {
	g, _ := fragile()
	view := store.View{}.Apply(word("a", "bad"))
	broken := g.Eval(derive.State{}, view).State
	later := g.Eval(broken, view.Apply(word("b", "good")))
	if len(later.Faults) != 0 || len(later.State.Faults()) != 1 {
		t.Errorf("%d new faults and %d standing, want 0 and 1", len(later.Faults), len(later.State.Faults()))
	}
	repaired := g.Eval(later.State, view.Apply(word("a", "good")))
	if len(repaired.State.Faults()) != 0 || len(later.State.Faults()) != 1 {
		t.Error("a repair must end the fault in its own state, and in no earlier one")
	}
}

// TestProjectionThatPanics faults its reader, and is no value of a State.
func TestProjectionThatPanics(t *testing.T) {
	g := derive.New()
	first := derive.Project(g, "first", derive.Input[string](g, "word"), func(_, v string) byte { return v[0] })
	derive.Map(g, "reader", first, func(_ *derive.Ctx, _ string, b byte) (byte, bool) { return b, true })
	result := g.Eval(derive.State{}, store.View{}.Apply(word("a", ""), word("b", "x")))
	if diff := cmp.Diff(map[string]string{"b": "120"}, values(result.State, first)); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if len(result.Faults) != 1 || result.Faults[0].Key != "a" {
		t.Errorf("got faults %v, want one of reader a", result.Faults)
	}
}

// TestMisuse panics out of the package with a message that says what to do.
func TestMisuse(t *testing.T) {
	some := store.View{}.Apply(word("a", "good"))
	for want, misuse := range map[string]func(g *derive.Graph, words derive.Collection[string]){
		`derive: "early" reads "late", which is defined later: define it first`: func(g *derive.Graph, words derive.Collection[string]) {
			var late derive.Collection[string]
			derive.Map(g, "early", words, func(c *derive.Ctx, key, _ string) (string, bool) { return derive.Get(c, late, key) })
			late = derive.Map(g, "late", words, func(*derive.Ctx, string, string) (string, bool) { return "", true })
			g.Eval(derive.State{}, some)
		},
		`derive: "escaped" "a" reads after its function has returned`: func(g *derive.Graph, words derive.Collection[string]) {
			var escaped *derive.Ctx
			derive.Map(g, "escaped", words, func(c *derive.Ctx, _, _ string) (string, bool) { escaped = c; return "", true })
			g.Eval(derive.State{}, some)
			derive.Get(escaped, words, "a")
		},
		`derive: input word "a" is a string, and the graph reads it as int`: func(*derive.Graph, derive.Collection[string]) {
			g := derive.New()
			derive.Input[int](g, "word")
			g.Eval(derive.State{}, some)
		},
		`derive: "twice" is defined twice`: func(g *derive.Graph, words derive.Collection[string]) {
			for range 2 {
				derive.Project(g, "twice", words, func(_, v string) string { return v })
			}
		},
		`derive: "afterwards" is defined after the graph was evaluated`: func(g *derive.Graph, words derive.Collection[string]) {
			g.Eval(derive.State{}, some)
			derive.Project(g, "afterwards", words, func(_, v string) string { return v })
		},
		`derive: "foreign" has a source of another graph`: func(_ *derive.Graph, words derive.Collection[string]) {
			derive.Project(derive.New(), "foreign", words, func(_, v string) string { return v })
		},
		`derive: "sourceless" has a zero handle as its source`: func(g *derive.Graph, _ derive.Collection[string]) {
			derive.Project(g, "sourceless", derive.Collection[string]{}, func(_, v string) string { return v })
		},
		`derive: Eval starts from a state of another graph`: func(g *derive.Graph, _ derive.Collection[string]) {
			derive.New().Eval(g.Eval(derive.State{}, some).State, some)
		},
		`derive: "word" is read from a state of another graph`: func(_ *derive.Graph, words derive.Collection[string]) {
			derive.Lookup(derive.New().Eval(derive.State{}, some).State, words, "a")
		},
	} {
		t.Run(want, func(t *testing.T) {
			defer func() {
				if err, ok := recover().(error); !ok || err.Error() != want {
					t.Errorf("panic %v, want %s", err, want)
				}
			}()
			g := derive.New()
			misuse(g, derive.Input[string](g, "word"))
		})
	}
}
