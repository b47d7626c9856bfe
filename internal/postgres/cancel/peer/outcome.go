package peer

import "errors"

// Outcome is what became of a question: a closed set, usable as a label of a metric.
type Outcome string

// Outcomes of questions that this replica asked, one for each peer that was asked.
const (
	AskedKnown   Outcome = "asked_known"   // the peer has the session, and its server has acted
	AskedUnknown Outcome = "asked_unknown" // the peer does not have it
	AskedFailed  Outcome = "asked_failed"  // it has, but its server did not take the cancel
	AskedSilent  Outcome = "asked_silent"  // no answer in time, or none that can be believed
)

// Outcomes of questions that this replica was asked.
const (
	HeardKnown     Outcome = "heard_known"
	HeardUnknown   Outcome = "heard_unknown"
	HeardFailed    Outcome = "heard_failed"
	HeardMalformed Outcome = "heard_malformed" // dropped: no question
	HeardVersion   Outcome = "heard_version"   // dropped: of another version
	HeardForged    Outcome = "heard_forged"    // dropped: sealed with another key
	HeardStale     Outcome = "heard_stale"     // dropped: the clocks differ, or it is old
	HeardReplayed  Outcome = "heard_replayed"  // dropped: it was heard before
	HeardBusy      Outcome = "heard_busy"      // dropped: too many
)

// Outcomes are all of them.
func Outcomes() []Outcome {
	return []Outcome{
		AskedKnown, AskedUnknown, AskedFailed, AskedSilent, HeardKnown, HeardUnknown, HeardFailed,
		HeardMalformed, HeardVersion, HeardForged, HeardStale, HeardReplayed, HeardBusy,
	}
}

var asked = map[Verdict]Outcome{Delivered: AskedKnown, NotMine: AskedUnknown, Failed: AskedFailed}

var answered = map[Verdict]Outcome{Delivered: HeardKnown, NotMine: HeardUnknown, Failed: HeardFailed}

// dropped is the outcome of a question that is not answered for err.
func dropped(err error) Outcome {
	for why, outcome := range map[error]Outcome{
		errVersion: HeardVersion, errForged: HeardForged, errStale: HeardStale, errReplayed: HeardReplayed, errBusy: HeardBusy,
	} {
		if errors.Is(err, why) {
			return outcome
		}
	}
	return HeardMalformed
}
