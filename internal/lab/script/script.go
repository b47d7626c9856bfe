package script

import (
	"fmt"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// The bounds of a script, for models and real proxies alike.
const (
	// MaxSize of its text, in bytes. 100,000 steps take about 2 MiB.
	MaxSize = 8 << 20
	// MaxEvents that its steps may expand to.
	MaxEvents = 1_000_000
	// MaxLength of a run, and of every time in a script.
	MaxLength = 24 * time.Hour
)

// What a run takes when no duration is asked for: the steps' own time and Calm after
// the last, and at least Usual if the steps are spread.
const (
	Usual = time.Minute
	Calm  = 10 * time.Second
)

// usualInterval is between reloads on change, if a script says nothing about reloads.
const usualInterval = 2 * time.Second

// Script is a script that was read and checked, and is not laid out in time yet.
type Script struct {
	// File is where it comes from; Name is what it calls itself, or else File.
	File, Name string

	steps  []step
	events []lab.Event // of all steps; At counts from the beginning of the step
	reload lab.Policy
	// timed: steps follow one another after every. Otherwise they are spread.
	timed bool
	every time.Duration
}

// step is one step: events[first:end], which take some time by themselves.
type step struct {
	line       int
	first, end int
	takes      time.Duration
	pause      bool // it does nothing but take time
	fixed      bool // it begins at the time "at"
	at         time.Duration
}

// Timeline lays the script out over a duration. Steps without times are spread evenly
// over it; others keep their times, and the run goes on calmly until the duration is
// over. A duration of 0 is what the script needs and Calm, or Usual. Too short a one
// is a *Error, as is a backend that comes back while it still drains.
func (s *Script) Timeline(duration time.Duration) (lab.Timeline, error) {
	duration, err := s.duration(duration)
	if err != nil {
		return lab.Timeline{}, err
	}
	t := lab.Timeline{Name: s.Name, Length: lab.Moment(duration), Reload: s.reload}
	t.Events = make([]lab.Event, len(s.events))
	for i, begin := range s.begins(s.gap(duration)) {
		for j := s.steps[i].first; j < s.steps[i].end; j++ {
			t.Events[j] = s.events[j]
			t.Events[j].At += lab.Moment(begin)
		}
	}
	return t, s.draining(t)
}

// duration returns how long the run is, if duration is long enough.
func (s *Script) duration(duration time.Duration) (time.Duration, error) {
	need := s.need()
	switch {
	case duration == 0 && s.timed:
		return need + Calm, nil
	case duration == 0:
		return max(Usual, need+Calm), nil
	case duration < 0 || duration > MaxLength:
		return 0, s.problem(0, "duration %v: it must be more than 0s and at most %v; 0s is what the script needs", duration, MaxLength)
	case duration >= need:
		return duration, nil
	}
	for i, begin := range s.begins(s.gap(0)) {
		if line := s.steps[i].line; line > 0 && begin+s.steps[i].takes > duration {
			return 0, s.problem(line, "duration %v: the run ends before this step does; all steps take %v, so run for %v or more, or shorten them", duration, need, need)
		}
	}
	return 0, s.problem(0, "duration %v: the run ends before its steps do; they take %v in all, so run for %v or more, or shorten them", duration, need, need)
}

// need is the time that all steps take, with the fixed gap after the last.
func (s *Script) need() time.Duration {
	if len(s.steps) == 0 {
		return 0
	}
	var last time.Duration
	for _, begin := range s.begins(s.gap(0)) {
		last = begin
	}
	return last + s.steps[len(s.steps)-1].takes + s.every
}

// gap returns the time between the end of a step and the beginning of the next.
func (s *Script) gap(duration time.Duration) time.Duration {
	if s.timed || duration == 0 || len(s.steps) == 0 {
		return s.every
	}
	rest := duration - s.need()
	return (rest / time.Duration(len(s.steps))).Truncate(time.Microsecond)
}

// begins yields when each step begins: a gap after the end of the step before, the
// time of pauses added, or at its fixed time.
func (s *Script) begins(gap time.Duration) func(yield func(int, time.Duration) bool) {
	return func(yield func(int, time.Duration) bool) {
		var now time.Duration
		for i, next := range s.steps {
			if next.fixed {
				now = next.at
			}
			if !yield(i, now) {
				return
			}
			now += next.takes
			if !next.pause {
				now += gap
			}
		}
	}
}

// draining checks that no backend comes back before its grace is over.
func (s *Script) draining(t lab.Timeline) error {
	var found Error
	leaving := map[string]lab.Event{}
	for _, e := range t.Events {
		switch {
		case e.Kind == lab.Remove && e.Grace > 0:
			leaving[e.Backend] = e
		case e.Kind == lab.Add:
			left, ok := leaving[e.Backend]
			if ok && e.At < left.At+left.Grace {
				found.add(Problem{s.File, e.Line, fmt.Sprintf(
					"add %q at %v: it drains until %v, since line %d removed it with a grace of %v; add it later or use another name",
					e.Backend, time.Duration(e.At), time.Duration(left.At+left.Grace), left.Line, time.Duration(left.Grace))})
			}
		}
	}
	return found.err()
}

func (s *Script) problem(line int, format string, args ...any) error {
	return &Error{Problems: []Problem{{s.File, line, fmt.Sprintf(format, args...)}}}
}
