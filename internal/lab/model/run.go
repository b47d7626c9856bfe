package model

import (
	"fmt"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// Run plays line on the model s, in time that is not real, and returns what it believed:
// Name, Model, How, Truth, Belief, Wrong and Updates, which counts what each proxy of
// a group was given. At equal times truth changes first, then the proxies hear of it. An
// event out of order or out of the run, of an unknown kind, or a reload for this model
// when it does not reload is an [*EventError].
func Run(s Spec, line lab.Timeline) (lab.Proxy, error) {
	if err := s.check(line); err != nil {
		return lab.Proxy{}, err
	}
	g := newGroup(s, line)
	if err := g.play(line); err != nil {
		return lab.Proxy{}, fmt.Errorf("%s: %w", s.Name, err)
	}
	h, err := g.ledger.Until(line.Length)
	if err != nil {
		return lab.Proxy{}, fmt.Errorf("%s: %w", s.Name, err)
	}
	p := lab.Proxy{
		Name: s.Name, Model: s.Model, How: s.How(line.Reload),
		Truth: h.Truth, Belief: h.Belief, Wrong: h.Wrong,
	}
	for _, m := range g.members {
		p.Updates += m.updates
	}
	return p, nil
}

// play goes from moment to moment at which something happens. What would happen at the
// end of the run takes no time any more.
func (g *group) play(line lab.Timeline) error {
	events := line.Events
	next := make([]lab.Moment, len(g.members))
	for i, m := range g.members {
		next[i] = m.next()
	}
	for {
		now := never
		if len(events) > 0 {
			now = events[0].At
		}
		for _, at := range next {
			now = min(now, at)
		}
		if now >= line.Length {
			return nil
		}
		for ; len(events) > 0 && events[0].At == now; events = events[1:] {
			if err := g.happen(events[0]); err != nil {
				return err
			}
		}
		for i, m := range g.members {
			if next[i] == now {
				if err := m.act(now); err != nil {
					return err
				}
				next[i] = m.next()
			}
		}
	}
}

// happen changes the truth.
func (g *group) happen(e lab.Event) error {
	if e.Kind == lab.Reload {
		return nil
	}
	return g.ledger.Truth(e.At, e.Backend, e.Kind == lab.Add)
}

func (s *Spec) check(line lab.Timeline) error {
	last := lab.Moment(0)
	for _, e := range line.Events {
		problem, remedy := "", ""
		switch {
		case e.Kind != lab.Add && e.Kind != lab.Remove && e.Kind != lab.Lose && e.Kind != lab.Reload:
			problem, remedy = "is no kind of event", "use add, remove, lose or reload"
		case e.At < last:
			problem, remedy = fmt.Sprintf("comes after %gs", last.Seconds()), "sort the events by time, from 0s"
		case e.At > line.Length:
			problem, remedy = fmt.Sprintf("is after the end of the run, %gs", line.Length.Seconds()), "make the run longer"
		case e.Kind == lab.Reload && e.Proxy == s.Name && s.Model != lab.ModelReload:
			problem, remedy = fmt.Sprintf("is for this proxy, and the %s model does not reload", s.Model),
				"name a proxy that reloads, or none for all that do"
		}
		if problem != "" {
			return &EventError{Name: s.Name, Event: e, Problem: problem, Remedy: remedy}
		}
		last = e.At
	}
	return nil
}
