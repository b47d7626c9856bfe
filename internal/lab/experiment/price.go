package experiment

import (
	"context"
	"errors"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// price is the CPU that the observer's questions cost a proxy: so much for each, and
// more or less as the answer names more or fewer backends than when that was measured.
type price struct {
	question time.Duration
	named    int     // by the answers when question was measured
	backend  float64 // what each further one adds, in nanoseconds; 0 until measured
	measured int     // how many there were further when that was
}

// of returns what the questions of a stretch cost.
func (p price) of(r reading) time.Duration {
	further := r.backends - r.asked*p.named
	return time.Duration(r.asked)*p.question + time.Duration(float64(further)*p.backend)
}

// learn takes what a question cost whose answer named so many backends.
func (p *price) learn(each time.Duration, named int) {
	p.measured = named - p.named
	p.backend = max(0, float64(each-p.question)/float64(p.measured))
}

// The calibration asks in the rhythm in which it asks after a change: a question that
// finds a proxy asleep costs more than one that comes right after another.
const (
	calibrations = 150
	listen       = calibrations * oftenEvery
)

// calibrate asks an idle proxy, so that what the questions cost it can be left out of
// what changes cost it. What it spends by itself meanwhile is no cost of questions.
func (o *observer) calibrate(ctx context.Context) error {
	if err := o.askAll(ctx); err != nil { // the first ones cost more
		return err
	}
	clock := new(Clock)
	clock.Start()
	quiet := o.meter.cpu()
	if err := until(ctx, clock.Now, lab.Moment(listen)); err != nil {
		return err
	}
	began, busy := clock.Now(), o.meter.cpu()
	if err := o.askAll(ctx); err != nil {
		return err
	}
	own := float64(busy-quiet) / float64(began) * float64(clock.Now()-began)
	o.meter.price = price{question: max(0, (o.meter.cpu()-busy-time.Duration(own))/calibrations), named: o.named}
	return nil
}

// askAll asks all questions of a calibration.
func (o *observer) askAll(ctx context.Context) error {
	return inRhythm(ctx, calibrations, func() error {
		_, err := o.ask(ctx)
		return err
	})
}

// inRhythm does something n times, as long as no error ends it.
func inRhythm(ctx context.Context, n int, do func() error) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for range n {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := do(); err != nil {
			return err
		}
		timer.Reset(oftenEvery)
	}
	return nil
}

// A few backends more or fewer make no difference to an answer. What each one makes is
// measured when there are more than that, and again when there are twice as many more.
const (
	fewBackends    = 5
	recalibrations = 50
)

// unlike tells whether questions may cost something else by now than was measured.
func (o *observer) unlike() bool {
	p := o.meter.price
	return distance(o.named, p.named) >= max(fewBackends, 2*distance(p.measured, 0))
}

func distance(a, b int) int { return max(a-b, b-a) }

// recalibrate asks many questions in a calm moment of the run, and learns what each
// backend in an answer costs. They are questions like all others, and count as such.
// What the proxy spends meanwhile on requests is known from the calm time so far. A
// change that comes meanwhile is more important: the next calm moment will do.
func (o *observer) recalibrate(ctx context.Context) error {
	rate, known := o.meter.calmRate()
	if !known {
		return nil
	}
	before, named := o.meter.read(), o.named
	err := inRhythm(ctx, recalibrations, func() error {
		if err := o.look(ctx); err != nil {
			return err
		}
		if o.record.restless() || o.named != named {
			return errDisturbed
		}
		return nil
	})
	if ctx.Err() != nil || errors.Is(err, errDisturbed) {
		return nil
	}
	if err != nil {
		return err
	}
	spent := o.meter.read().minus(before)
	own := time.Duration(rate * float64(spent.at))
	o.meter.price.learn((spent.cpu-own)/recalibrations, named)
	return nil
}

var errDisturbed = errors.New("something changed meanwhile")
