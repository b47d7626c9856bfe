package pipeline

import (
	"maps"
	"slices"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// checkStates holds at the end of every story: an object that serves in full has
// no step that says otherwise, and states are counted as verdicts tell them.
func (w world) checkStates() {
	w.Helper()
	told := map[standing]int{}
	for _, v := range w.loop.Reporter().Verdicts("") {
		told[standing{v.Object.Kind, v.State}]++
		if full := v.State == verdict.Serving || v.State == verdict.Pending; full && slices.ContainsFunc(v.Steps, partial) {
			w.Errorf("%s %s is %s, and its steps say %v", v.Object.Kind, v.Object.Name, v.State, v.Steps)
		}
	}
	if counted := w.loop.Reporter().states(); !maps.Equal(counted, told) {
		w.Errorf("counted %v, told %v", counted, told)
	}
}
