package pipeline

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/acceptance"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// lane is one decision in progress. It is made in a goroutine of its own, which the
// loop waits for as long as it only computes, and no longer once it asks a validator
// or searches.
type lane struct {
	in       acceptance.Input
	captured store.View // the observed view when it began
	// pending are the changes that it decides about: since when they are observed.
	pending map[store.Key]time.Time
	began   time.Time
	// base is how often something had been accepted when it began.
	base int
	// rollback tells that it starts from what the proxies had before they refused something.
	rollback bool
	// races counts how often it was finished after its base had moved.
	races int

	slow     chan struct{} // closed when it asks a validator or searches
	slowOnce sync.Once
	done     chan struct{} // closed when decision is made
	decision acceptance.Decision
}

// finished is closed when the decision is made; it is nil without a lane.
func (n *lane) finished() <-chan struct{} {
	if n == nil {
		return nil
	}
	return n.done
}

// waits tells the loop not to wait any more.
func (n *lane) waits() { n.slowOnce.Do(func() { close(n.slow) }) }

// start begins to decide and reports whether that was quick; if it was not, the loop
// turns on and finds the lane finished later.
func (l *Loop) start(ctx context.Context, n *lane, decide func(acceptance.Rules, acceptance.Input) acceptance.Decision) (quick bool) {
	n.slow, n.done, n.base = make(chan struct{}), make(chan struct{}), l.acceptances
	rules, check := l.rules, l.check()
	rules.Check = func(trial derive.Result) []acceptance.Refusal {
		refusals := check(trial)
		if len(refusals) > 0 {
			n.waits()
		}
		return refusals
	}
	rules.Validate = func(t acceptance.Trial) acceptance.Answer {
		answer := l.judges.ask(ctx, t, n.waits)
		if len(answer.Refusals) > 0 {
			n.waits()
		}
		return answer
	}
	l.tasks.Go(func() {
		defer close(n.done)
		n.decision = decide(rules, n.in)
	})
	select {
	case <-n.done:
		return true
	case <-n.slow:
		return false
	}
}

// maxRaces is how often the base of a search may move before it finishes. Then
// nothing but endpoints advances beside it any more.
const maxRaces = 3

// round decides over everything observed. While an earlier round is in progress, what
// was observed since is tried on what is accepted now.
func (l *Loop) round(ctx context.Context, now time.Time) {
	if l.search != nil {
		l.missed = true
		l.beside(ctx, now)
		return
	}
	l.missed = false
	over := l.patience.take(now)
	n := &lane{
		in: acceptance.Input{
			Observed: l.observed, Accepted: l.accepted, Standing: l.rejected, Patient: !over, Reconsider: over && l.patience.all,
			Expired: l.expired(now), Recalled: l.Retained.Recalled,
		},
		captured: l.observed, pending: l.pending, began: now,
	}
	l.pending = map[store.Key]time.Time{} // fresh: to go through a map takes as long as it ever was
	if l.fleet.rollback {
		l.fleet.rollback = false
		n.back(l.fleet.proven)
	}
	l.run(ctx, n)
}

// run makes a lane the round in progress, and ends it at once if it is quick.
func (l *Loop) run(ctx context.Context, n *lane) {
	l.search = n
	if l.start(ctx, n, acceptance.Rules.Round) {
		l.endRound(ctx)
		return
	}
	l.beside(ctx, l.Now())
}

// endRound takes what a round decided. If something else was accepted meanwhile, the
// decision is tried once more on that.
func (l *Loop) endRound(ctx context.Context) {
	n := l.search
	l.search = nil
	if ctx.Err() != nil {
		return // what was called off decides nothing
	}
	moved := n.base != l.acceptances
	if moved && !n.rollback && n.decision.Unavailable == "" {
		l.run(ctx, l.again(n))
		return
	}
	fresh := l.missed || len(l.pending) > 0 || moved && n.rollback
	switch {
	case n.decision.Unavailable != "" && (!l.started || n.rollback):
		// A part of the first configuration is no configuration; and to go back without
		// all that is independent would take away what serves.
		l.fleet.rollback = l.fleet.rollback || n.rollback
		l.keepPending(n)
	case !moved && n.rollback:
		l.fromProven(n, l.Now())
		fallthrough
	case !moved:
		l.take(ctx, n)
	default:
		l.fleet.rollback = l.fleet.rollback || n.rollback
		l.keepPending(n)
	}
	l.aside = nil
	l.waitFor(n.decision)
	if fresh {
		l.window.AddWithin(l.Now(), 0)
	}
}

// again is a finished round over what was not accepted meanwhile: what it rejected
// stands, and the rest is one trial.
func (l *Loop) again(n *lane) *lane {
	standing := maps.Clone(n.decision.Rejected)
	var keys []store.Key
	for c := range store.Diff(n.in.Accepted.View(), n.in.Observed) {
		if now, _ := l.accepted.View().Get(c.Key); store.Identical(now, c.Old) {
			keys = append(keys, c.Key)
		} else {
			delete(standing, c.Key)
		}
	}
	return &lane{
		in: acceptance.Input{
			Observed: l.accepted.View().Substitute(n.in.Observed, keys...), Accepted: l.accepted, Standing: standing, Patient: true,
			Expired: n.in.Expired,
		},
		captured: n.captured, pending: n.pending, began: n.began, races: n.races + 1,
	}
}

// beside advances what does not have to wait for the round in progress: endpoints at
// once, everything else that was observed since in one trial.
func (l *Loop) beside(ctx context.Context, now time.Time) {
	l.show(now)
	if !l.started {
		return
	}
	l.endpoints(ctx, now)
	if l.side != nil || l.search.races >= maxRaces {
		return
	}
	pending := map[store.Key]time.Time{}
	for key, at := range l.pending {
		value, _ := l.observed.Get(key)
		if refused, tried := l.aside[key]; !tried || !store.Identical(refused, value) {
			pending[key] = at
			delete(l.pending, key)
		}
	}
	if len(pending) == 0 {
		return
	}
	l.side = l.narrow(pending, now)
	if l.start(ctx, l.side, acceptance.Rules.Advance) {
		l.endSide(ctx)
	}
}

// narrow is a lane over a few changes.
func (l *Loop) narrow(pending map[store.Key]time.Time, now time.Time) *lane {
	keys := slices.SortedFunc(maps.Keys(pending), store.Key.Compare)
	return &lane{
		in: acceptance.Input{
			Observed: l.accepted.View().Substitute(l.observed, keys...), Accepted: l.accepted, Standing: l.rejected, Patient: true,
		},
		captured: l.observed, pending: pending, began: now,
	}
}

// endSide takes what was accepted beside a round; the rest waits for the next one.
func (l *Loop) endSide(ctx context.Context) {
	n := l.side
	l.side = nil
	if ctx.Err() != nil {
		return
	}
	if n.base != l.acceptances {
		l.keepPending(n)
	} else {
		l.take(ctx, n)
		l.setAside(n)
	}
	if len(l.pending) > 0 {
		l.window.AddWithin(l.Now(), 0)
	}
}

// setAside notes what was not accepted beside a round, so that it is not tried there again.
func (l *Loop) setAside(n *lane) {
	if l.aside == nil {
		l.aside = map[store.Key]any{}
	}
	for key := range n.pending {
		if value, _ := n.captured.Get(key); !n.decided(key) {
			l.aside[key] = value
		}
	}
}

// endpoints advances changed endpoints, which no validator has to see, without
// waiting for anything.
func (l *Loop) endpoints(ctx context.Context, now time.Time) {
	pending := map[store.Key]time.Time{}
	for _, from := range []map[store.Key]time.Time{l.pending, l.search.pending, l.side.waiting()} {
		for key, at := range from {
			if key.Collection == "EndpointSlice" {
				pending[key] = at
			}
		}
	}
	if len(pending) == 0 {
		return
	}
	n := l.narrow(pending, now)
	rules := l.rules
	rules.Check = l.check()
	rules.Validate = func(t acceptance.Trial) acceptance.Answer {
		if l.judges.needed(t) {
			return acceptance.Answer{Unavailable: "to be asked in a round"}
		}
		return acceptance.Answer{}
	}
	n.decision = rules.Advance(n.in)
	for key := range pending {
		if n.decided(key) {
			delete(l.pending, key)
			delete(l.search.pending, key)
			delete(l.side.waiting(), key)
		} else {
			delete(pending, key)
		}
	}
	if len(pending) > 0 {
		l.take(ctx, n)
	}
}

// waiting are the changes that a lane decides about; nil without a lane.
func (n *lane) waiting() map[store.Key]time.Time {
	if n == nil {
		return nil
	}
	return n.pending
}

// decided reports whether a lane's decision accepts or rejects what it observed of an object.
func (n *lane) decided(key store.Key) bool {
	if _, rejected := n.decision.Rejected[key]; rejected {
		return true
	}
	observed, _ := n.captured.Get(key)
	accepted, _ := n.decision.State.View().Get(key)
	return store.Identical(observed, accepted)
}

// keepPending leaves to the next round what a lane did not decide.
func (l *Loop) keepPending(n *lane) {
	for key, at := range n.pending {
		if since, known := l.pending[key]; !known || at.Before(since) {
			l.pending[key] = at
		}
	}
}

// waitFor asks for another round without a change where one may end differently.
func (l *Loop) waitFor(d acceptance.Decision) {
	loose := false
	for _, r := range d.Rejected {
		loose = loose || r.Loose()
	}
	l.patience.wait(l.Now(), d.Unavailable != "" || d.NoBaseline || d.Moved || loose && l.stirred || l.judges.behind(), loose)
	l.stirred = false
}
