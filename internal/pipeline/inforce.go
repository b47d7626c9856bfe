package pipeline

import (
	"fmt"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/failmode"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// inForce says what of a rejected object serves, for how long it has, and until when.
func (j join) inForce(now time.Time) verdict.Step {
	since, serves := j.reporter.board.since(j.key), j.reporter.serves(j.at, j.key, *j.rejection)
	switch {
	case j.rejection.Closed:
		return verdict.Closed.Step(verdict.Accept, verdict.WasExcluded, "nothing of it serves any more: "+j.whyClosed(since, now))
	case j.rejection.Narrowed:
		return verdict.Narrowed.Step(verdict.Accept, verdict.Warning, serves+j.accepted(now)+j.age(since, now))
	case j.rejection.Retained:
		return verdict.Retained.Step(verdict.Accept, verdict.Warning, serves+j.accepted(now)+j.age(since, now))
	default:
		return nothingRetained()
	}
}

// age is for how long a revision has been retained, and when that ends.
func (j join) age(since, now time.Time) string {
	if since.IsZero() || now.Sub(since) < time.Minute {
		return j.closes(since, now, "; it ")
	}
	return ", retained for " + span(now.Sub(since)) + j.closes(since, now, "; ")
}

func (j join) closes(since, now time.Time, before string) string {
	at := j.reporter.board.expires(j.key)
	if at.IsZero() || since.IsZero() {
		return ""
	}
	return before + "closes in " + span(max(at.Sub(now), 0))
}

// whyClosed says which rule closed an object.
func (j join) whyClosed(since, now time.Time) string {
	lifetime := failmode.Lifetime(j.key)
	switch {
	case lifetime > 0 && !since.IsZero() && now.Sub(since) >= lifetime:
		return "a revision of it is retained for " + span(lifetime) + " at most"
	case j.rejection.Changed:
		return "no earlier revision of it is retained (see --fail-mode)"
	default:
		return "it cannot be served beside what was taken away or closed"
	}
}

// inForceReason tells that a reason says what serves of a rejected object, which is no
// problem of its own.
func inForceReason(reason string) bool {
	switch reason {
	case verdict.Retained.Name, verdict.NothingRetained.Name, verdict.Narrowed.Name, verdict.Closed.Name:
		return true
	default:
		return false
	}
}

// span is a duration in its largest unit.
func span(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	default:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	}
}

// besideDocument says what serves of an object whose document is refused, and for how
// long it has been.
func (j join) besideDocument(f snapshot.Finding, now time.Time) verdict.Step {
	if !f.Retained {
		return nothingRetained()
	}
	return verdict.Retained.Step(verdict.Accept, verdict.Warning, j.reporter.kept(j.at, f)+j.accepted(now)+j.age(j.reporter.board.since(j.key), now))
}

func nothingRetained() verdict.Step {
	return verdict.NothingRetained.Step(verdict.Accept, verdict.WasExcluded, "nothing of it serves: no revision was accepted yet")
}

// accepted says when what is retained was accepted, if that is known.
func (j join) accepted(now time.Time) string {
	if _, known := j.reporter.board.acceptedAt(j.key); !known {
		return ""
	}
	out := ", " + j.reporter.acceptedSince(j.key, now)
	if j.reporter.board.wasRecalled(j.key) {
		out += " by an earlier run"
	}
	return out
}
