package derive_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// names are few, so that functions meet, and some contain the joining mark.
var names = rapid.SampledFrom([]string{"a", "ab", "a|b", "b", "b|a", "c", "abc"})

var docs = rapid.Custom(func(t *rapid.T) *doc {
	tag := rapid.SampledFrom([]string{"ta", "tb", "tc", "ta|b", "boom"})
	return &doc{
		Refs:   rapid.SliceOfN(names, 0, 3).Draw(t, "refs"),
		Prefix: rapid.SampledFrom([]string{"", "a", "ab", "b"}).Draw(t, "prefix"),
		Secret: rapid.SampledFrom([]string{"", "", "a", "b"}).Draw(t, "secret"),
		Tags:   rapid.SliceOfNDistinct(tag, 0, 3, rapid.ID).Draw(t, "tags"),
		Items:  rapid.SliceOfNDistinct(names, 0, 3, rapid.ID).Draw(t, "items"),
		Boom:   rapid.SampledFrom([]string{"", "", "", "a", "c"}).Draw(t, "boom"),
		Hidden: rapid.SampledFrom([]bool{false, false, true}).Draw(t, "hidden"),
	}
})

var edits = rapid.Custom(func(t *rapid.T) store.Edit {
	collection := rapid.SampledFrom([]string{"doc", "svc", "secret", "other"}).Draw(t, "collection")
	edit := store.Edit{Collection: collection, Name: names.Draw(t, "name")}
	if rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
		return edit
	}
	switch collection {
	case "doc":
		edit.Value = docs.Draw(t, "doc")
	case "secret":
		edit.Value = store.Unread("meta", rapid.SampledFrom([]string{"1", "2"}).Draw(t, "version"))
	default:
		edit.Value = rapid.IntRange(0, 6).Draw(t, "value")
	}
	return edit
})

// version is one State of a history, and what it must still show at the end.
type version struct {
	state derive.State
	shows outputs
	reads string
}

// TestLaws evaluates random histories with branches, from any earlier State to
// any View, and holds each result against the laws of the package.
func TestLaws(t *testing.T) {
	l := newLaws()
	rapid.Check(t, func(t *rapid.T) {
		history := []version{{shows: l.outputs(derive.State{})}}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			from := history[rapid.IntRange(0, len(history)-1).Draw(t, "from")]
			view := nextView(t, history)
			result := l.graph.Eval(from.state, view)
			history = append(history, checkResult(t, l, from, view, result))
		}
		for _, v := range history {
			requireSame(t, "an earlier state changed", v.shows, l.outputs(v.state))
		}
	})
}

// nextView draws the View of an earlier State, or one made from it.
func nextView(t *rapid.T, history []version) store.View {
	pick := func() version { return history[rapid.IntRange(0, len(history)-1).Draw(t, "view")] }
	view := pick().state.View()
	switch rapid.IntRange(0, 5).Draw(t, "change") {
	case 0:
		return view
	case 1:
		keys := rapid.SliceOf(rapid.Custom(func(t *rapid.T) store.Key { return edits.Draw(t, "key").Key }))
		return view.Substitute(pick().state.View(), keys.Draw(t, "keys")...)
	case 2:
		return fillSecrets(view)
	default:
		return view.Apply(rapid.SliceOfN(edits, 1, 6).Draw(t, "edits")...)
	}
}

func fillSecrets(view store.View) store.View {
	for name, v := range view.Prefix("secret", "") {
		key := store.Key{Collection: "secret", Name: name}
		version := v.(*store.OnDemand).Version()
		view, _ = view.Fill(key, version, "body "+version)
	}
	return view
}

func checkResult(t *rapid.T, l laws, from version, view store.View, result derive.Result) version {
	scratch := l.graph.Eval(derive.State{}, view)
	made := version{result.State, l.outputs(result.State), derive.RecordedReads(result.State)}
	oracle := newOracle(view)
	requireSame(t, "not what plain maps give", oracle.expected, made.shows)
	requireSame(t, "functions ran", runs(newOracle(from.state.View()), oracle), result.Work.Functions)
	requireSame(t, "evaluated from nothing it differs", l.outputs(scratch.State), made.shows)
	requireSame(t, "evaluated from nothing it reads otherwise", derive.RecordedReads(scratch.State), made.reads)
	if err := derive.SameEdges(result.State); err != nil {
		t.Fatal(err)
	}
	for _, delta := range []derive.Delta{result.Delta, l.graph.Between(from.state, result.State)} {
		for of, applied := range l.applied(t, delta, from) {
			requireSame(t, "delta applied to the old outputs of "+of, made.shows[of], applied)
		}
	}
	requireSame(t, "the other delta", l.changed(result.Delta), l.changed(l.graph.Between(from.state, result.State)))
	if again := l.graph.Eval(result.State, view); len(again.Work.Functions) > 0 {
		t.Fatalf("evaluated again without a change, functions ran: %v", again.Work.Functions)
	}
	return made
}

// applied returns the old outputs with the delta applied.
func (l *laws) applied(t *rapid.T, d derive.Delta, from version) outputs {
	return outputs{
		"svc":      apply(t, d, l.svcs, from.shows["svc"]),
		"doubled":  apply(t, d, l.doubled, from.shows["doubled"]),
		"resolved": apply(t, d, l.resolved, from.shows["resolved"]),
		"parts":    apply(t, d, l.parts, from.shows["parts"]),
		"answers":  apply(t, d, l.answers, from.shows["answers"]),
		"sums":     apply(t, d, l.sums, from.shows["sums"]),
		"counts":   apply(t, d, l.counts, from.shows["counts"]),
		"lengths":  apply(t, d, l.lengths, from.shows["lengths"]),
		"last":     apply(t, d, l.last, from.shows["last"]),
	}
}

// changed prints a delta.
func (l *laws) changed(d derive.Delta) []string {
	return slices.Concat(changes(d, l.svcs), changes(d, l.doubled), changes(d, l.resolved), changes(d, l.parts),
		changes(d, l.answers), changes(d, l.sums), changes(d, l.counts), changes(d, l.lengths), changes(d, l.last))
}

func changes[V any](d derive.Delta, of derive.Collection[V]) (lines []string) {
	for c := range derive.Changes(d, of) {
		lines = append(lines, fmt.Sprintf("%+v", c))
	}
	return lines
}

func apply[V any](t *rapid.T, d derive.Delta, of derive.Collection[V], old map[string]string) map[string]string {
	applied := map[string]string{}
	maps.Copy(applied, old)
	last := ""
	for c := range derive.Changes(d, of) {
		before, had := old[c.Key]
		if c.Key < last || had != c.Had || had && before != fmt.Sprintf("%+v", c.Old) {
			t.Fatalf("change %+v after %q, of old value %q", c, last, before)
		}
		last = c.Key
		delete(applied, c.Key)
		if c.Has {
			applied[c.Key] = fmt.Sprintf("%+v", c.New)
		}
	}
	return applied
}

func requireSame[V any](t *rapid.T, what string, want, got V) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}
