package acceptance

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// Admission is what is decided about a proposal: edits that nobody has made yet.
type Admission struct {
	// Decision is what the next round would end with if the proposal were made now.
	Decision
	// Refused are the objects for which the proposal is not admitted: those of the
	// proposal itself first, then what it conflicts with, by name.
	Refused []Rejection
	// Unready tells that Refused are all observed revisions that are bad without the
	// proposal too, and about which no round has decided yet. Once it has, the answer
	// may be another.
	Unready bool
}

// Admitted reports whether the proposal may be made: a view with all of it, and with
// everything else that is observed, passed every check and every validator. Left out
// of that view is only what is rejected already, exactly as it is observed.
func (a Admission) Admitted() bool {
	return len(a.Refused) == 0 && len(a.Unresolved) == 0 && a.Unavailable == "" && !a.NoBaseline
}

// Admit judges a proposal by the round that would come next, and changes nothing. What
// is observed counts first; on failure only the exact revisions that are rejected
// already give way to what serves instead of them. That it is no better without the
// proposal admits nothing.
//
// Law: what is admitted the next round over the same view accepts; of what is not, that
// round rejects the proposal or something that it conflicts with, unless Unready.
func (r Rules) Admit(in Input, proposal ...store.Edit) Admission {
	before := in.Observed
	in.Observed, in.Patient, in.Reconsider = before.Apply(proposal...), true, false
	out := Admission{Decision: r.Round(in)}
	out.Refused = refused(in, out.Rejected, proposal)
	if len(out.Refused) > 0 && out.Moved { // what was rejected may be good together with it
		in.Patient = false
		out.Decision = out.and(r.Round(in))
		out.Refused = refused(in, out.Rejected, proposal)
	}
	if len(out.Refused) > 0 && !slices.ContainsFunc(out.Refused, func(r Rejection) bool { return proposes(proposal, r.Object) }) {
		in.Observed = before
		base := r.Round(in)
		both := out.and(base)
		out.Trials, out.Tried, out.Work = both.Trials, both.Tried, both.Work
		out.Unready = !slices.ContainsFunc(out.Refused, func(r Rejection) bool { _, too := base.Rejected[r.Object]; return !too })
	}
	return out
}

// and is a later decision with what both cost.
func (a Admission) and(later Decision) Decision {
	sum := a.Work
	sum.Functions = maps.Clone(sum.Functions)
	add(&sum, later.Work)
	later.Work, later.Trials, later.Tried = sum, a.Trials+later.Trials, slices.Concat(a.Tried, later.Tried)
	return later
}

// refused are the rejections of a proposal's objects, and those that a round would add
// to what is rejected as it is observed.
func refused(in Input, rejected map[store.Key]Rejection, proposal []store.Edit) []Rejection {
	var out []Rejection
	for key, r := range rejected {
		was, known := in.Standing[key]
		if proposes(proposal, key) || !known || !store.Identical(was.Refused, r.Refused) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b Rejection) int {
		mine := func(r Rejection) int {
			if proposes(proposal, r.Object) {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(mine(a), mine(b)), a.Object.Compare(b.Object))
	})
	return out
}

func proposes(proposal []store.Edit, key store.Key) bool {
	return slices.ContainsFunc(proposal, func(e store.Edit) bool { return e.Key == key })
}
