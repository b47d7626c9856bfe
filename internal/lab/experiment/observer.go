package experiment

import (
	"context"
	"fmt"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// How often a proxy is asked what it believes: while a change is on its way, and else.
const (
	oftenEvery  = 2 * time.Millisecond
	seldomEvery = 50 * time.Millisecond
)

// askTimeout bounds one question; a proxy that does not answer it is believed dead.
const askTimeout = 2 * time.Second

// observer asks a proxy all the time what it believes, and what it spends.
type observer struct {
	proxy  proxy.Proxy
	record *record
	meter  *meter

	named    int          // how many backends the last answer named
	restless bool         // whether a change was on its way then
	asked    lab.Moment   // when the last question was asked
	gaps     []lab.Moment // while restless, from a question to the end of the next answer
}

// run observes until ctx ends.
func (o *observer) run(ctx context.Context) error {
	o.meter.begin()
	defer o.meter.end()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-o.record.wake:
		case <-timer.C:
		}
		every, err := o.turn(ctx)
		if err != nil {
			return err
		}
		timer.Reset(every)
	}
}

// turn asks once, and in a calm moment more than once if it must. It returns when to
// ask again. A change that has just come is noted before the question, so that what the
// proxy spends on it meanwhile is booked as its cost.
func (o *observer) turn(ctx context.Context) (time.Duration, error) {
	o.meter.look(o.record.restless())
	if err := o.look(ctx); err != nil {
		return 0, err
	}
	o.restless = o.record.restless()
	switch {
	case o.restless:
		return oftenEvery, nil
	case o.unlike():
		return seldomEvery, o.recalibrate(ctx)
	}
	return seldomEvery, nil
}

// look records what the proxy believes now, as of the end of its answer: what it says
// was so at some moment since the question, and no belief is dated before it was held.
// A question that the end of the run interrupts is no failure.
func (o *observer) look(ctx context.Context) error {
	before := o.asked
	o.asked = o.record.clock()
	belief, err := o.ask(ctx)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	}
	if o.restless {
		o.gaps = append(o.gaps, o.record.clock()-before)
	}
	return o.record.saw(belief)
}

// resolution is how well the moment of a change of belief is known: it was after the
// last question whose answer did not show it, and before the end of the one that did.
func (o *observer) resolution() lab.Quantiles { return lab.QuantilesOf(o.gaps) }

func (o *observer) ask(ctx context.Context) (proxy.Belief, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	belief, err := o.proxy.Belief(ctx)
	if err != nil {
		return belief, fmt.Errorf("it does not say what it believes: %w", err)
	}
	o.named = len(belief.Some)
	o.meter.question(o.named)
	return belief, nil
}
