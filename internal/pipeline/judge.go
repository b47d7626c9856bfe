package pipeline

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/acceptance"
	"github.com/gatehouse-proxy/gatehouse/internal/translate/envoy"
	"github.com/gatehouse-proxy/gatehouse/internal/validator"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// Judged is a validator and what to do without it.
type Judged struct {
	validator.Validator
	// Required lets changes wait while the validator is unavailable; otherwise they
	// pass without its verdict.
	Required bool
}

// judge asks one validator, about one candidate at a time.
type judge struct {
	Judged
	graph *Graph
	turn  chan struct{} // holds a token while somebody asks
	// at is what the validator accepted last; the zero State when it accepted nothing yet.
	at derive.State
	// behind tells that something was accepted without its verdict.
	behind atomic.Bool
	// unavailable is told when the validator gives no verdict, and with "" when it
	// gives one again.
	unavailable func(validator, why string)
}

// judges are all validators, in the order in which they are asked.
type judges []*judge

func newJudges(g *Graph, all []Judged, unavailable func(validator, why string)) judges {
	var out judges
	for _, j := range all {
		out = append(out, &judge{Judged: j, graph: g, turn: make(chan struct{}, 1), unavailable: unavailable})
	}
	return out
}

// ask returns what the first validator says that does not accept a trial. It calls
// waits before anything that may take long.
func (all judges) ask(ctx context.Context, t acceptance.Trial, waits func()) acceptance.Answer {
	for _, j := range all {
		if a := j.ask(ctx, t, waits); len(a.Refusals) > 0 || a.Unavailable != "" {
			return a
		}
	}
	return acceptance.Answer{}
}

// needed reports whether some validator has to see a trial.
func (all judges) needed(t acceptance.Trial) bool {
	return slices.ContainsFunc(all, func(j *judge) bool { return j.needed(t) })
}

// behind reports whether something in force still lacks the verdict of some validator.
func (all judges) behind() bool {
	return slices.ContainsFunc(all, func(j *judge) bool { return j.behind.Load() })
}

// needed reports whether a trial differs from what was accepted in anything that the
// validator judges.
func (j *judge) needed(t acceptance.Trial) bool {
	return t.Base.View().Revision() == 0 || j.concerns(t.Delta)
}

// ask asks for a verdict where one is needed: also about what was accepted before
// without one, so that it is found, and not what comes next, if that is at fault.
func (j *judge) ask(ctx context.Context, t acceptance.Trial, waits func()) acceptance.Answer {
	if !j.needed(t) && !j.behind.Load() {
		return acceptance.Answer{}
	}
	if err := j.begin(ctx, waits); err != nil {
		return acceptance.Answer{Unavailable: j.Name() + ": " + err.Error()}
	}
	defer func() { <-j.turn }()
	delta := j.graph.Between(j.at, t.State)
	if j.at.View().Revision() != 0 && !j.concerns(delta) {
		j.behind.Store(false)
		return acceptance.Answer{} // it has seen just this
	}
	waits()
	c := j.candidate(delta, t.State)
	v := j.validate(ctx, c)
	if v.Unavailable != "" && ctx.Err() != nil { // that says nothing of the validator
		return acceptance.Answer{Unavailable: j.Name() + ": no longer asked: " + ctx.Err().Error()}
	}
	j.unavailable(j.Name(), v.Unavailable)
	switch {
	case v.Unavailable != "" && j.Required:
		return acceptance.Answer{Unavailable: j.Name() + ": " + v.Unavailable}
	case v.Unavailable != "":
		j.behind.Store(true)
		return acceptance.Answer{}
	case len(v.Refusals) == 0:
		j.at = t.State
		j.behind.Store(false)
		return acceptance.Answer{}
	}
	return acceptance.Answer{Refusals: j.refusals(v, c)}
}

// longest bounds one verdict of any validator; each has a shorter limit of its own.
const longest = time.Minute

// validate asks the validator itself. One that panics is unavailable.
func (j *judge) validate(ctx context.Context, c validator.Candidate) (v validator.Verdict) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	defer func() {
		if failed := recover(); failed != nil {
			v = validator.Verdict{Unavailable: fmt.Sprintf("it failed: %v; please report this as a bug", failed)}
		}
	}()
	return j.Validate(ctx, c)
}

// begin takes the turn, as soon as nobody else asks.
func (j *judge) begin(ctx context.Context, waits func()) error {
	select {
	case j.turn <- struct{}{}:
		return nil
	default:
	}
	waits()
	select {
	case j.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// concerns reports whether a delta has resources of types that the validator judges.
func (j *judge) concerns(delta derive.Delta) bool {
	for _, collection := range j.graph.Resources() {
		for c := range derive.Changes(delta, collection.Of) {
			for _, o := range []envoy.Output{c.Old, c.New} {
				if o.Resource != nil && j.Judges(o.Resource.Type) {
					return true
				}
			}
		}
	}
	return false
}

func (j *judge) candidate(delta derive.Delta, state derive.State) validator.Candidate {
	c := validator.Candidate{Baseline: j.graph.published(j.at), All: j.graph.published(state)}
	c.Delta, c.Inverse = j.graph.bothWays(delta)
	return c
}

// bothWays are a delta and its inverse in the words of the proxies, of what can be made.
func (g *Graph) bothWays(delta derive.Delta) (there, back xdsserve.Update) {
	for _, collection := range g.Resources() {
		for c := range derive.Changes(delta, collection.Of) {
			move(&there, c.Old.Resource, c.New.Resource)
			move(&back, c.New.Resource, c.Old.Resource)
		}
	}
	return there, back
}

// move adds to an update what turns one resource into another; either may be nil.
func move(u *xdsserve.Update, from, to *xdsserve.Resource) {
	switch {
	case to != nil:
		u.Set = append(u.Set, *to)
	case from != nil:
		u.Remove = append(u.Remove, xdsserve.Scoped{Group: from.Group, Name: from.Name})
	}
}

// published yields the resources of a state.
func (g *Graph) published(s derive.State) iter.Seq[xdsserve.Resource] {
	return func(yield func(xdsserve.Resource) bool) {
		for _, collection := range g.Resources() {
			for _, o := range derive.Items(s, collection.Of) {
				if o.Resource != nil && !yield(*o.Resource) {
					return
				}
			}
		}
	}
}

// refusals are a validator's in the words of acceptance.
func (j *judge) refusals(v validator.Verdict, c validator.Candidate) []acceptance.Refusal {
	out := make([]acceptance.Refusal, 0, len(v.Refusals))
	for _, r := range v.Refusals {
		reason := r.Reason
		if reason.Name == "" {
			reason = verdict.RefusedByValidator
		}
		refusal := acceptance.Refusal{
			Culprits: r.Objects, By: j.Name(),
			Step: reason.Step(verdict.Accept, verdict.WasRejected, j.Name()+": "+r.Message).At(r.Field),
		}
		if len(r.Resources) > 0 {
			refusal.Suspects = func() []store.Key { return originsOf(r.Resources, c) }
		}
		out = append(out, refusal)
	}
	return out
}

// originsOf are the objects that resources of a candidate were made from.
func originsOf(names []xdsserve.Scoped, c validator.Candidate) []store.Key {
	wanted := make(map[xdsserve.Scoped]bool, len(names))
	for _, n := range names {
		wanted[n] = true
	}
	var out []store.Key
	from := func(r xdsserve.Resource) {
		name := xdsserve.Scoped{Group: r.Group, Name: r.Name}
		if !wanted[name] {
			return
		}
		delete(wanted, name)
		out = append(out, keysOfOrigins(r.Origins)...)
	}
	for _, r := range c.Delta.Set {
		from(r)
	}
	if len(wanted) == 0 {
		return out
	}
	for r := range c.All {
		from(r)
	}
	return out
}
