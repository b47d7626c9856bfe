package acceptance

import (
	"maps"

	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// Advance accepts what can be accepted of the observed changes without a search: all
// of them, or all but those that refusals name. It rejects nothing: what is not
// accepted is left to a Round, and the rejections that stand go on standing.
func (r Rules) Advance(in Input) Decision {
	s := newSearch(r, in)
	s.byProvenance(s.open)
	rejected := maps.Clone(in.Standing)
	for _, g := range s.open {
		if s.advances > 0 && !s.isWithheld(g) {
			for _, key := range g.keys {
				delete(rejected, key)
			}
		}
	}
	fell := s.fell()
	clear(s.withheld)
	d := s.decision()
	d.Rejected = rejected
	if len(s.unresolved) > 0 || fell { // not even what is accepted is valid any more, or may stay
		d.State, d.Delta, d.Unresolved = in.Accepted, derive.Delta{}, nil
		d.Rejected = maps.Clone(in.Standing)
	}
	return d
}
