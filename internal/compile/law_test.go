package compile

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// TestLaws walks generated edit histories and holds after each edit what must hold
// of any view.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, Options{XBackend: rapid.Bool().Draw(rt, "xbackend"), Experimental: rapid.Bool().Draw(rt, "experimental")})
		pairs := testPairs(t)
		if rapid.IntRange(0, 3).Draw(rt, "empty") > 0 {
			w.apply(busyWorld(pairs)...)
		}
		for range rapid.IntRange(1, 4).Draw(rt, "batches") {
			edits := rapid.Custom(func(rt *rapid.T) store.Edit { return drawEdit(rt, pairs) })
			w.edit(rapid.SliceOfN(edits, 1, 20).Draw(rt, "edits")...)
			everyObjectHasAVerdict(rt, w)
			scratchSaysTheSame(rt, w)
		}
		deletionTellsTheTruth(rt, w)
	})
}

// everyObjectHasAVerdict: observed = serving ⊎ excluded(reason), and nothing else is judged.
func everyObjectHasAVerdict(t *rapid.T, w *world) {
	objects := 0
	for _, kind := range snapshot.Kinds {
		objects += w.view.Len(kind.Name)
	}
	judged := 0
	for object, f := range w.out.Findings.All(w.state) {
		judged++
		if _, observed := w.view.Get(object); !observed || f.Object != object {
			t.Fatalf("%s has a finding of %s and is not observed", object, f.Object)
		}
		excluded := slices.ContainsFunc(f.Steps, func(s verdict.Step) bool {
			return s.Outcome == verdict.WasExcluded || s.Outcome == verdict.WasRejected
		})
		switch {
		case !f.Serves && !excluded:
			t.Fatalf("%s does not serve and has no reason: %v", object, f.Steps)
		case f.Failed && f.Serves && f.Object.Collection != kindHTTPRoute && f.Object.Collection != kindGRPCRoute:
			t.Fatalf("%s serves and failed: %v", object, f.Steps)
		}
		for _, s := range f.Steps {
			if _, known := verdict.ReasonNamed(s.Reason); !known || s.Reason == verdict.Unexplained.Name || s.Message == "" {
				t.Fatalf("%s has the step %+v", object, s)
			}
		}
	}
	if judged != objects {
		t.Fatalf("%d objects and %d findings", objects, judged)
	}
}

// scratchSaysTheSame: evaluating from nothing gives what the history gave.
func scratchSaysTheSame(t *rapid.T, w *world) {
	scratch := w.graph.Eval(derive.State{}, w.view).State
	if diff := cmp.Diff(w.dump(scratch), w.dump(w.state)); diff != "" {
		t.Fatalf("from scratch (-) and by history (+):\n%s", diff)
	}
}

// deletionTellsTheTruth: without an excluded object the model is the same, and
// without a serving one it is another, unless the verdict says that it is redundant.
func deletionTellsTheTruth(t *rapid.T, w *world) {
	before := w.dumpModel(w.state)
	for object, f := range w.out.Findings.All(w.state) {
		without := w.graph.Eval(w.state, w.view.Apply(store.Edit{Key: object})).State
		diff := cmp.Diff(before, w.dumpModel(without))
		switch {
		case !f.Serves && diff != "":
			t.Fatalf("%s is excluded (%v), and without it the model changes:\n%s", object, f.Steps, diff)
		case f.Serves && diff == "" && !hasStep(f, verdict.OK, verdict.Redundant):
			t.Fatalf("%s serves (%v), and without it nothing changes", object, f.Steps)
		}
	}
}

// dump is everything that a State says, one line a value.
func (w *world) dump(s derive.State) []string {
	lines := w.dumpModel(s)
	for object, f := range w.out.Findings.All(s) {
		lines = append(lines, line("finding", object.String(), f))
	}
	return lines
}

func (w *world) dumpModel(s derive.State) []string {
	m := w.out.Model
	return slices.Concat(
		dumpOf(s, "gateway", m.Gateways), dumpOf(s, "listener", m.Listeners), dumpOf(s, "table", m.Tables), dumpOf(s, "host", m.Hosts),
		dumpOf(s, "cluster", m.Clusters), dumpOf(s, "endpoints", m.Endpoints), dumpOf(s, "certificate", m.Certificates),
	)
}

func dumpOf[V any](s derive.State, what string, c derive.Collection[V]) []string {
	var lines []string
	for key, v := range derive.Items(s, c) {
		lines = append(lines, line(what, key, v))
	}
	return lines
}

func line(what, key string, v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("%s %s %s", what, key, strings.ReplaceAll(string(text), `"`, ""))
}
