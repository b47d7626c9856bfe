// Package experiment plays a timeline on one real proxy: it starts and ends real
// backends, tells the proxy of them the way its operators do, sends it requests, asks
// it all the time what it believes, and turns all of that into one [lab.Proxy].
//
// Four goroutines work side by side while a run lasts, and Run waits for all: the
// stage changes the truth, the carrier tells the proxy, the observer asks it, and the
// load sends requests. They meet in the record, which orders in time what they did and
// saw. Every wait ends with the context or with the run.
package experiment

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/load"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// World is what an experiment does to backends, and learns at their addresses.
type World interface {
	// StartBackend returns once the backend answers.
	StartBackend(ctx context.Context, name string, address netip.Addr) error
	EndBackend(name string, end lab.End) error
	// Serving is when each backend answered so far. TriesInVain are the tries of the
	// proxy to reach one that did not.
	Serving() []lab.BackendSpan
	TriesInVain() ([]lab.TryInVain, error)
}

// Plan is what one experiment does.
type Plan struct {
	// Name is the proxy as asked for; reload events may name it.
	Name     string       `json:"name"`
	Model    lab.Model    `json:"model"`
	Timeline lab.Timeline `json:"timeline"`
	Load     lab.Load     `json:"load"`
}

// Starts returns how many backends the plan starts.
func (p Plan) Starts() int {
	n := 0
	for _, e := range p.Timeline.Events {
		if e.Kind == lab.Add {
			n++
		}
	}
	return n
}

// Experiment is one plan and what it is played on. The proxy has been started.
type Experiment struct {
	Plan  Plan
	Proxy proxy.Proxy
	World World
	Clock *Clock
	// Failed hears of what ends the run early, such as a backend that died by itself.
	Failed <-chan error
}

// Run plays the plan. It calls begin once the proxy has shown that it can be observed,
// and starts the clock when that returns. The result is complete up to an early end, of
// which its field Failed then tells. The proxy is not stopped.
func (x Experiment) Run(ctx context.Context, begin func() error) (lab.Proxy, error) {
	r := newRecord(x.Clock.Now, x.Plan.Timeline.Length)
	o := &observer{proxy: x.Proxy, record: r, meter: newMeter(x.Proxy.Processes, x.Clock.Now)}
	c := newCarrier(x.Plan, x.Proxy, r)
	s := newStage(x.Plan, x.World, r, c)
	for _, ready := range []func(context.Context) error{s.prepare, x.asking(o.calibrate)} {
		if err := ready(ctx); err != nil {
			return lab.Proxy{}, err
		}
	}
	if err := begin(); err != nil {
		return lab.Proxy{}, err
	}
	x.Clock.Start()
	requests, err := x.play(ctx, s, c, o)
	return x.result(ctx, r, c, o, requests, err), nil
}

// errOver ends the goroutines of a run that is over.
var errOver = errors.New("the run is over")

// play lets all goroutines of the experiment work until the run is over or one fails.
func (x Experiment) play(ctx context.Context, s *stage, c *carrier, o *observer) (requests []lab.Request, err error) {
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var wg sync.WaitGroup
	for _, part := range []func(context.Context) error{x.asking(c.run), x.asking(o.run), x.watch} {
		wg.Go(func() {
			if err := part(running); err != nil {
				stop(err)
			}
		})
	}
	loaded := make(chan error, 1)
	go func() {
		var err error
		if requests, err = load.Run(running, x.load()); err != nil {
			stop(err)
		}
		loaded <- err
	}()
	err = s.run(running)
	if err == nil {
		err = until(running, x.Clock.Now, x.Plan.Timeline.Length)
	}
	if err != nil {
		stop(err)
	}
	// The last requests end within their timeout; what they meet counts.
	if loadErr := <-loaded; err == nil {
		err = loadErr
	}
	stop(errOver)
	wg.Wait()
	if cause := context.Cause(running); !errors.Is(cause, errOver) {
		return requests, cause
	}
	return requests, err
}

func (x Experiment) load() load.Options {
	return load.Options{
		Address: proxy.ListenAddress, Rate: x.Plan.Load.Rate, Timeout: x.Plan.Load.Timeout,
		Length: x.Plan.Timeline.Length, Clock: x.Clock.Now,
	}
}

// attemptsTimeout bounds the reading of a proxy's log.
const attemptsTimeout = 10 * time.Second

// result sums up a run that ended with err.
func (x Experiment) result(ctx context.Context, r *record, c *carrier, o *observer, requests []lab.Request, err error) lab.Proxy {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptsTimeout)
	defer cancel()
	tries, triesErr := x.Proxy.Attempts(ctx)
	switch {
	case triesErr != nil:
		triesErr = fmt.Errorf("its tries are not counted: %w", triesErr)
	case err == nil: // what ends early leaves lines unwritten
		triesErr = unlogged(requests, tries)
	}
	for i := range requests {
		requests[i].Attempts = tries[requests[i].ID]
	}
	inVain, inVainErr := x.World.TriesInVain()
	history, historyErr := r.history()
	out := lab.Proxy{
		Name: x.Plan.Name, Model: x.Plan.Model,
		Truth: history.Truth, Belief: history.Belief, Wrong: history.Wrong,
		Serving: x.World.Serving(), Updates: c.updates, Resolution: o.resolution(),
		Requests: new(lab.Account(requests, history.Truth, inVain)),
		Cost:     new(o.meter.cost()),
		Failed:   inOneLine(err, triesErr, inVainErr, historyErr),
	}
	if checks, ok := x.Proxy.(proxy.Checks); ok {
		out.Cost.CPU += checks.Checked().Seconds()
		out.Cost.Propagation += checks.Checked().Seconds()
	}
	return out
}

// until waits for a moment of the run.
func until(ctx context.Context, clock func() lab.Moment, m lab.Moment) error {
	timer := time.NewTimer(time.Duration(m - clock()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
