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
}

// The calibration asks questions for as long as it listens to the idle proxy.
const (
	calibrations = 200
	listen       = 300 * time.Millisecond
)

// calibrate asks an idle proxy, so that what the questions cost it can be left out of
// what changes cost it. What it spends by itself meanwhile is no cost of questions.
func (o *observer) calibrate(ctx context.Context) error {
	if err := o.askAll(ctx); err != nil { // the first ones cost more
		return err
	}
	clock := new(Clock)
	clock.Start()
	quiet := o.meter.spent()
	if err := until(ctx, clock.Now, lab.Moment(listen)); err != nil {
		return err
	}
	began, busy := clock.Now(), o.meter.spent()
	if err := o.askAll(ctx); err != nil {
		return err
	}
	own := float64(busy-quiet) / float64(began) * float64(clock.Now()-began)
	o.meter.perQuestion = max(0, (o.meter.spent()-busy-time.Duration(own))/calibrations)
	return nil
}

func (o *observer) askAll(ctx context.Context) error {
	for range calibrations {
		if _, err := o.ask(ctx); err != nil {
			return err
		}
	}
	return nil
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
		if err := o.look(ctx); err != nil {
			return err
		}
		every := seldomEvery
		restless := o.record.restless()
		if restless {
			every = oftenEvery
		}
		o.meter.look(restless)
		timer.Reset(every)
	}
}

// look records what the proxy believes now. A question that the end of the run
// interrupts is no failure.
func (o *observer) look(ctx context.Context) error {
	belief, err := o.ask(ctx)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	}
	return o.record.saw(belief)
}

func (o *observer) ask(ctx context.Context) (proxy.Belief, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	belief, err := o.proxy.Belief(ctx)
	if err != nil {
		return belief, fmt.Errorf("it does not say what it believes: %w", err)
	}
	o.meter.questions++
	return belief, nil
}
