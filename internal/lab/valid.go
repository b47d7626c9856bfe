package lab

import (
	"errors"
	"fmt"
	"slices"
)

// Valid returns nil if r can be what a run found, else the first thing that cannot be:
// a result comes from a file when a run is shown again.
func (r Result) Valid() error {
	switch {
	case r.Timeline.Length <= 0:
		return fmt.Errorf("timeline.length %g: must be above 0", r.Timeline.Length.Seconds())
	case r.Settle < 0:
		return fmt.Errorf("settle %g: must not be negative", r.Settle.Seconds())
	case len(r.Proxies) == 0:
		return errors.New("proxies: there is none")
	}
	for i, e := range r.Timeline.Events {
		if !slices.Contains([]Kind{Add, Remove, Lose, Reload}, e.Kind) {
			return fmt.Errorf("timeline.events[%d].kind %q: no such kind", i, e.Kind)
		}
		if e.At < 0 || e.At >= r.Timeline.Length || i > 0 && e.At < r.Timeline.Events[i-1].At {
			return fmt.Errorf("timeline.events[%d].at %g: not in order, or not within the run", i, e.At.Seconds())
		}
	}
	for i, p := range r.Proxies {
		if err := p.valid(r.Timeline.Length); err != nil {
			return fmt.Errorf("proxies[%d].%w", i, err)
		}
	}
	return nil
}

func (p Proxy) valid(length Moment) error {
	if !slices.Contains([]Model{ModelStream, ModelReload, ModelDNS}, p.Model) {
		return fmt.Errorf("model %q: no such model", p.Model)
	}
	for name, spans := range map[string][]BackendSpan{
		"truth": p.Truth, "belief": p.Belief, "wrong.missing": p.Wrong.Missing, "wrong.stale": p.Wrong.Stale,
	} {
		for i, s := range spans {
			if !s.within(length) {
				return fmt.Errorf("%s[%d]: from %g to %g is not within the run", name, i, s.From.Seconds(), s.To.Seconds())
			}
		}
	}
	for i, w := range p.Wrong.Windows {
		if !w.within(length) {
			return fmt.Errorf("wrong.windows[%d]: from %g to %g is not within the run", i, w.From.Seconds(), w.To.Seconds())
		}
	}
	return nil
}

func (s Span) within(length Moment) bool { return 0 <= s.From && s.From <= s.To && s.To <= length }
