package lab

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Check holds a result against what the models promise, and returns one error for each
// promise that does not hold:
//
//   - every proxy ran, to the end;
//   - a plain stream model is never wrong, unless backends are lost before anybody knows;
//   - every real proxy that reloads was wrong for longer than every real one that streams;
//   - every request is accounted for exactly once, and none is lacking.
func (r Result) Check() error {
	var errs []error
	for _, p := range r.Proxies {
		errs = append(errs, p.ran(), p.neverWrong(r.Timeline), p.addsUp(r.Load.Rate, r.Timeline.Length))
	}
	return errors.Join(append(errs, r.order()...)...)
}

func (p Proxy) ran() error {
	switch {
	case p.Skipped != "":
		return fmt.Errorf("proxy %s was skipped: %s", p.Name, p.Skipped)
	case p.Failed != "":
		return fmt.Errorf("proxy %s failed: %s", p.Name, p.Failed)
	}
	return nil
}

func (p Proxy) neverWrong(line Timeline) error {
	lost := slices.ContainsFunc(line.Events, func(e Event) bool { return e.Kind == Lose })
	if p.Name == "model:"+string(ModelStream) && len(p.Wrong.Windows) > 0 && !lost {
		return fmt.Errorf("proxy %s was wrong %d times: a plain stream is never wrong", p.Name, len(p.Wrong.Windows))
	}
	return nil
}

func (p Proxy) addsUp(rate int, length Moment) error {
	if p.Requests == nil || p.Failed != "" {
		return nil
	}
	c := p.Requests
	if sum := c.Answered + c.AnsweredByRemoved + c.Failed + c.NoBackend + c.Unsent; sum != c.Due {
		return fmt.Errorf("proxy %s: %d requests were due, but %d are accounted for", p.Name, c.Due, sum)
	}
	by := 0
	for _, n := range c.FailedBy {
		by += n
	}
	if by != c.Failed {
		return fmt.Errorf("proxy %s: %d requests failed, but %d have a cause", p.Name, c.Failed, by)
	}
	if due := Due(rate, length); c.Due != due {
		return fmt.Errorf("proxy %s: %d requests are accounted for, but %d were due", p.Name, c.Due, due)
	}
	return nil
}

// order compares every real proxy that reloads with every real one that streams.
func (r Result) order() []error {
	var errs []error
	for _, reload := range r.Proxies {
		for _, stream := range r.Proxies {
			if reload.real(ModelReload) && stream.real(ModelStream) && reload.Wrong.Length() <= stream.Wrong.Length() {
				errs = append(errs, fmt.Errorf("proxy %s was wrong for %v and %s for %v: the one that reloads should be wrong for longer",
					reload.Name, reload.Wrong.Length(), stream.Name, stream.Wrong.Length()))
			}
		}
	}
	return errs
}

func (p Proxy) real(model Model) bool {
	return p.Program != "" && p.Model == model && p.Skipped == "" && p.Failed == ""
}

// Length returns for how long belief and truth differed in all.
func (w Wrong) Length() time.Duration {
	var sum time.Duration
	for _, s := range w.Windows {
		sum += s.Length()
	}
	return sum
}
