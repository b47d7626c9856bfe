package derive_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

func secretKey(name string) store.Key { return store.Key{Collection: "secret", Name: name} }

// readers is a graph that reads the body of the secret that each word names.
func readers() (*derive.Graph, derive.Collection[string]) {
	g := derive.New()
	words, secrets := derive.Input[string](g, "word"), derive.Input[string](g, "secret")
	return g, derive.Map(g, "reader", words, func(c *derive.Ctx, _, name string) (string, bool) {
		meta, _ := derive.Get(c, secrets, name)
		body, presence := derive.Body(c, secrets, name)
		return [...]string{"absent", "unread", "present"}[presence] + " " + meta + " " + body, true
	})
}

// TestWants: only bodies that a function asks for are wanted, each once, until they are there.
func TestWants(t *testing.T) {
	g, read := readers()
	view := store.View{}.Apply(
		word("1", "asked"), word("2", "asked"), word("3", "none"),
		store.Edit{Key: secretKey("asked"), Value: store.Unread("meta", "7")},
		store.Edit{Key: secretKey("unasked"), Value: store.Unread("meta", "7")})
	before := g.Eval(derive.State{}, view)
	if diff := cmp.Diff([]store.Key{secretKey("asked")}, before.Wants); diff != "" {
		t.Fatalf("wants (-want +got):\n%s", diff)
	}
	later := g.Eval(before.State, view.Apply(word("4", "none")))
	if diff := cmp.Diff(before.Wants, later.Wants); diff != "" {
		t.Errorf("a want that stands (-want +got):\n%s", diff)
	}
	filled, err := later.State.View().Fill(secretKey("asked"), "7", "bytes")
	if err != nil {
		t.Fatal(err)
	}
	after := g.Eval(later.State, filled)
	want := map[string]string{"1": "present meta bytes", "2": "present meta bytes", "3": "absent  ", "4": "absent  "}
	if diff := cmp.Diff(want, values(after.State, read)); diff != "" || len(after.Wants) > 0 {
		t.Errorf("wants %v, values (-want +got):\n%s", after.Wants, diff)
	}
	if v, _ := derive.Lookup(before.State, read, "1"); v != "unread meta " {
		t.Errorf("the earlier state shows %q", v)
	}
}

// TestBodyOfPlainValues: a source that has all bodies puts plain values into the View.
func TestBodyOfPlainValues(t *testing.T) {
	g, read := readers()
	result := g.Eval(derive.State{}, store.View{}.Apply(word("1", "s"), store.Edit{Key: secretKey("s"), Value: "plain"}))
	if v, _ := derive.Lookup(result.State, read, "1"); v != "present plain plain" || len(result.Wants) > 0 {
		t.Errorf("got %q and wants %v", v, result.Wants)
	}
}
