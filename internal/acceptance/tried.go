package acceptance

import "github.com/gatehouse-proxy/gatehouse/pkg/derive"

// Outcome is how a trial ended.
type Outcome string

// Outcomes of a trial.
const (
	TrialAccepted    Outcome = "accepted"
	TrialRefused     Outcome = "refused"     // by a check or a validator
	TrialUnavailable Outcome = "unavailable" // a validator could not tell
)

// Tried is one trial of a round.
type Tried struct {
	Outcome Outcome
	// Functions is how many functions of derived collections it re-ran.
	Functions int
}

// tried is how a trial ended, and what it cost.
func (s *search) tried(t attempt) Tried {
	out := Tried{Outcome: TrialRefused, Functions: functionsOf(t.Work)}
	switch {
	case t.ok:
		out.Outcome = TrialAccepted
	case s.stopped():
		out.Outcome = TrialUnavailable
	}
	return out
}

func functionsOf(w derive.Work) int {
	sum := 0
	for _, runs := range w.Functions {
		sum += runs
	}
	return sum
}
