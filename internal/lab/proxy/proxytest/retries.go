package proxytest

import (
	"context"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// Fate counts what became of requests when one of two believed backends was dead.
type Fate struct {
	Answered, Failed int
	// RetriedAway are answered ones that were tried more than once; MostTries is the
	// most that any was, both by the proxy's own log.
	RetriedAway, MostTries int
}

// HalfDead has a proxy believe in a dead backend beside a live one, and sends requests.
func HalfDead(t *testing.T, d proxy.Description, retriesOff bool) Fate {
	t.Helper()
	const requests = 40
	o := Options(t, d)
	o.RetriesOff = retriesOff
	l := Start(t, d, o)
	live, dead := Backend(1), Backend(2)
	l.Run(live, dead)
	l.Tell(live, dead)
	l.Believes(live, dead)
	l.Reaches(live, dead)
	l.Kill(dead)

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var answers []Answer
	for range requests {
		a, err := l.Ask(ctx)
		must(t, err)
		answers = append(answers, a)
	}
	tries, err := l.Attempts(ctx)
	must(t, err)
	var f Fate
	for _, a := range answers {
		f.count(a, tries[a.ID])
	}
	t.Logf("%+v", f)
	return f
}

func (f *Fate) count(a Answer, tries int) {
	f.MostTries = max(f.MostTries, tries)
	switch {
	case a.Backend == "":
		f.Failed++
	case tries > 1:
		f.RetriedAway++
		fallthrough
	default:
		f.Answered++
	}
}
