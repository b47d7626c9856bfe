package pipeline

import (
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// undecided reports whether the observed revision is neither accepted nor rejected yet.
func (j join) undecided() bool {
	observed, _ := j.at.observed.Get(j.key)
	accepted, _ := j.at.state.View().Get(j.key)
	if store.Identical(observed, accepted) {
		return false
	}
	return j.rejection == nil || !store.Identical(observed, j.rejection.Refused)
}

// waiting says what an undecided revision waits for, and what is in force until then.
func (j join) waiting() string {
	message := "being tried" + j.reporter.board.unavailability()
	if _, retained := j.at.state.View().Get(j.key); retained {
		return message + "; the previous accepted revision keeps serving"
	}
	return message + "; nothing of it serves yet"
}
