package report

import (
	"slices"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// Step is what one moment of a script changes, and what each proxy believes after it.
type Step struct {
	At lab.Moment
	// What says what changes, for example "add 10.0.1.11" or "reload".
	What string
	// Truth is what is routable by the script, sorted.
	Truth []string
	// Beliefs has one for each proxy that ran, in their order.
	Beliefs []Belief
}

// Belief is what a proxy believes at a step.
type Belief struct {
	Proxy    string
	Backends []string // sorted
	// Missing and Stale are what is wrong with it, compared with the proxy's own truth.
	Missing, Stale []string
}

// Wrong tells whether the belief differs from the truth.
func (b Belief) Wrong() bool { return len(b.Missing)+len(b.Stale) > 0 }

// Steps returns the first limit steps of a run, and how many more there are. Models are
// looked at right after a step; real proxies the result's Settle after it, but before
// the next step and the end of the run.
func Steps(r lab.Result, limit int) (steps []Step, more int) {
	truth := set{}
	settle := func(before lab.Moment) {
		if last := len(steps) - 1; last >= 0 && steps[last].Beliefs == nil {
			steps[last].Beliefs = beliefs(r, steps[last].At, before)
		}
	}
	for events, at := range moments(r.Timeline, nil) {
		settle(at)
		for _, e := range events {
			truth.apply(e)
		}
		if len(steps) == limit {
			more++
			continue
		}
		steps = append(steps, Step{At: at, What: what(events, whatRoom), Truth: truth.names()})
	}
	settle(r.Timeline.Length)
	return steps, more
}

func (s set) apply(e lab.Event) {
	switch e.Kind {
	case lab.Add:
		s[e.Backend] = true
	case lab.Remove, lab.Lose:
		delete(s, e.Backend)
	case lab.Reload:
	}
}

// beliefs are those of all proxies that ran, after at and before the next step.
func beliefs(r lab.Result, at, before lab.Moment) []Belief {
	out := []Belief{}
	for _, p := range r.Proxies {
		if p.Skipped != "" {
			continue
		}
		then := at
		if p.Program != "" {
			then = max(at, min(at+r.Settle, before-1))
		}
		out = append(out, Belief{
			Proxy: p.Name, Backends: lab.At(p.Belief, then),
			Missing: lab.At(p.Wrong.Missing, then), Stale: lab.At(p.Wrong.Stale, then),
		})
	}
	return out
}

// whatRoom is how wide the names of backends in a step may be.
const whatRoom = 24

// what says what events of one moment do.
func what(events []lab.Event, room int) string {
	var parts []string
	for _, g := range alike(events) {
		parts = append(parts, g.words(string(g.kind), room))
	}
	return strings.Join(parts, ", ")
}

// group is events of one kind and moment, by their backends; reloads by their proxies.
type group struct {
	kind  lab.Kind
	names []string
}

func (g group) words(verb string, room int) string {
	if g.names[0] == "" {
		return verb
	}
	return verb + " " + Names(g.names, room)
}

// alike puts together what events of one moment do alike, in order of the first of each.
func alike(events []lab.Event) []group {
	var groups []group
	for _, e := range events {
		name := e.Backend
		if e.Kind == lab.Reload {
			name = e.Proxy
		}
		i := slices.IndexFunc(groups, func(g group) bool { return g.kind == e.Kind })
		if i < 0 {
			groups = append(groups, group{e.Kind, []string{name}})
		} else {
			groups[i].names = append(groups[i].names, name)
		}
	}
	return groups
}
