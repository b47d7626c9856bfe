package pipeline

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// TestLayouts: a table that changes its way of lookup is there both ways for the
// drain time, and stays as it is for the time after.
func TestLayouts(t *testing.T) {
	g := derive.New()
	tables := derive.Input[model.RouteTable](g, "tables")
	l := newLayouts(time.Minute, time.Hour)
	start := time.Unix(1000, 0)
	var state derive.State
	var view store.View
	decide := func(value any, at time.Duration) []store.Edit {
		view = view.Apply(store.Edit{Collection: "tables", Name: "t", Value: value})
		result := g.Eval(state, view)
		state = result.State
		return l.follow(result.Delta, tables, start.Add(at))
	}
	expect := func(what string, got []store.Edit, want ...any) {
		t.Helper()
		var values []any
		for _, e := range got {
			values = append(values, e.Value)
		}
		if diff := cmp.Diff(want, values); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	expect("a new table", decide(model.RouteTable{ID: "t"}, 0), model.Layout{})
	if at, due := l.next(); due {
		t.Errorf("something is due at %v", at)
	}
	expect("it changes", decide(model.RouteTable{ID: "t", Scoped: true}, 0), model.Layout{Scoped: true, Leaving: true, Held: true})
	expect("the evaluation follows", decide(model.RouteTable{ID: "t", Scoped: true, Both: true}, time.Second))
	expect("too early", l.due(start.Add(59*time.Second)))
	if at, due := l.next(); !due || !at.Equal(start.Add(time.Minute)) {
		t.Errorf("next is due at %v, %v", at, due)
	}
	expect("drained", l.due(start.Add(time.Minute)), model.Layout{Scoped: true, Held: true})
	expect("held for an hour", l.due(start.Add(time.Hour)), model.Layout{Scoped: true})
	if at, due := l.next(); due {
		t.Errorf("something is due at %v", at)
	}
	expect("it is gone", decide(nil, 2*time.Hour), nil)
}

// TestLayoutsAreRecalled: the next process keeps the ways of tables that are still
// there, for as long as this one would have, and forgets the others.
func TestLayoutsAreRecalled(t *testing.T) {
	g := derive.New()
	tables := derive.Input[model.RouteTable](g, "tables")
	start := time.Unix(10_000, 0)
	l := newLayouts(time.Minute, time.Hour)
	edits := l.recall(map[model.TableID]Way{
		"old": {Scoped: true, Since: start.Add(-2 * time.Hour)}, "held": {Since: start.Add(-30 * time.Minute)},
		"leaving": {Scoped: true, Since: start.Add(time.Hour)}, "gone": {Scoped: true},
	}, start)
	got := map[string]any{}
	for _, e := range edits {
		got[e.Name] = e.Value
	}
	want := map[string]any{
		"old": model.Layout{Scoped: true}, "held": model.Layout{Held: true},
		"leaving": model.Layout{Scoped: true, Leaving: true, Held: true}, "gone": model.Layout{Scoped: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("recalled (-want +got):\n%s", diff)
	}

	view := store.View{}.Apply(
		store.Edit{Collection: "tables", Name: "old", Value: model.RouteTable{ID: "old", Scoped: true}},
		store.Edit{Collection: "tables", Name: "held", Value: model.RouteTable{ID: "held"}},
		store.Edit{Collection: "tables", Name: "leaving", Value: model.RouteTable{ID: "leaving", Scoped: true, Both: true}},
	)
	l.follow(g.Eval(derive.State{}, view).Delta, tables, start)
	kept := map[model.TableID]Way{"old": {Scoped: true}, "held": {Since: start.Add(-30 * time.Minute)}, "leaving": {Scoped: true, Since: start}}
	if diff := cmp.Diff(kept, l.ways()); diff != "" {
		t.Errorf("kept for the next process (-want +got):\n%s", diff)
	}
}
