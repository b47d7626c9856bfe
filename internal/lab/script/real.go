package script

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// The bounds of a run with real proxies: each backend is a process.
const (
	MaxRealEvents   = 2_000
	MaxRealBackends = 100 // at once, the draining ones included
	MaxRealLength   = 30 * time.Minute
)

// CheckReal tells whether real proxies can play a timeline of the script. The error
// is a *Error with the step that goes over each bound.
func (s *Script) CheckReal(t lab.Timeline) error {
	var found Error
	over := func(line int, format string, args ...any) {
		found.add(Problem{s.File, line, fmt.Sprintf(format, args...) + ", or choose models only (--proxies model:stream,model:reload)"})
	}
	if len(t.Events) > MaxRealEvents {
		e := t.Events[MaxRealEvents]
		over(e.Line, "%s %q: it is event %d of %d, and real proxies take at most %d; leave steps out", e.Kind, e.Backend+e.Proxy, MaxRealEvents+1, len(t.Events), MaxRealEvents)
	}
	if e, ok := overcrowded(t.Events); ok {
		over(e.Line, "add %q: it is one more than the %d backends that may run at once with real proxies; remove others first", e.Backend, MaxRealBackends)
	}
	if d := time.Duration(t.Length); d > MaxRealLength {
		over(0, "the run takes %v, and real proxies run for at most %v; shorten the script or the duration", d, MaxRealLength)
	}
	return found.err()
}

// overcrowded returns the first event that adds a backend too many.
func overcrowded(events []lab.Event) (lab.Event, bool) {
	var running int
	lost := map[string]bool{}
	var leaving []lab.Moment // when the draining ones end
	for _, e := range events {
		leaving = slices.DeleteFunc(leaving, func(end lab.Moment) bool { return end <= e.At })
		switch e.Kind {
		case lab.Add:
			running++
		case lab.Lose:
			running--
			lost[e.Backend] = true
		case lab.Remove:
			if !lost[e.Backend] {
				running--
				leaving = append(leaving, e.At+e.Grace)
			}
			delete(lost, e.Backend)
		case lab.Reload:
		}
		if running+len(leaving) > MaxRealBackends {
			return e, true
		}
	}
	return lab.Event{}, false
}

// CheckReloads tells whether every reload step that names a proxy names one of the
// run that reloads. The models are those of all proxies of the run, by name.
func (s *Script) CheckReloads(models map[string]lab.Model) error {
	var found Error
	for _, e := range s.events {
		if e.Kind != lab.Reload || e.Proxy == "" || models[e.Proxy] == lab.ModelReload {
			continue
		}
		found.add(Problem{s.File, e.Line, refusal(e.Proxy, models)})
	}
	return found.err()
}

// refusal says why a proxy cannot be told to reload.
func refusal(proxy string, models map[string]lab.Model) string {
	var others []string
	for _, name := range slices.Sorted(maps.Keys(models)) {
		if models[name] == lab.ModelReload {
			others = append(others, name)
		}
	}
	why := fmt.Sprintf("no such proxy takes part; add it to --proxies, or %s", meant(proxy, "name one of", others))
	if model, ok := models[proxy]; ok {
		why = fmt.Sprintf("its model is %s, so it never reloads; leave the step out, or %s", model, meant(proxy, "name one of", others))
	}
	if len(others) == 0 {
		why, _, _ = strings.Cut(why, ", or ")
	}
	return fmt.Sprintf("reload %q: %s", proxy, why)
}
