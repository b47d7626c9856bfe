package health

import (
	"container/heap"
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
)

// Metrics are told of every probe.
type Metrics interface {
	// Probe is one result of the proxy key.
	Probe(key string, r Result)
	// Forget drops the series of a proxy that is no more.
	Forget(key string)
	// Suspended says whether verdicts are held, because too many fail at once.
	Suspended(held bool)
}

// DefaultInFlight is how many probes are under way at once at most.
const DefaultInFlight = 1024

// Options make an Engine.
type Options struct {
	// InFlight bounds the probes at once. Default [DefaultInFlight].
	InFlight int
	// Emit is told that a proxy's state is worth a write, by its key. It must neither block
	// nor call the engine; false says that it could not be passed on, and it is tried again
	// with the next probe.
	Emit    func(key string) bool
	Metrics Metrics      // nil without
	Log     *slog.Logger // nil for none
	// Probe is nil but in tests.
	Probe func(context.Context, Proxy) Result
}

// Engine probes proxies until its context ends. It is made anew for each term of a
// leader: what it knew of the last one is in the statuses.
type Engine struct {
	options Options
	wake    chan struct{}
	slots   chan struct{}

	mu      sync.Mutex
	states  map[string]*state
	due     queue
	alarm   time.Time // when the loop wakes by itself
	full    bool      // something is due, and there is no slot
	soonest time.Time // when the next probe may begin that should not wait
	weather weather
	held    bool
	heldAt  time.Time
	writes  map[Cause]int
}

// state is one proxy and what is known of it.
type state struct {
	proxy   Proxy
	version int // of what is asked and how; a result of another one does not count
	record  record
	next    time.Time
	place   int // in the queue; -1 while it is probed
	gone    bool
	moved   bool      // what its status says was of another endpoint
	fell    time.Time // when it turned bad, if that is not long ago
	// snapshot is the verdict that was last passed on, nil before.
	snapshot *lifecycle.Verdict
}

// New returns an engine without proxies.
func New(o Options) *Engine {
	if o.InFlight == 0 {
		o.InFlight = DefaultInFlight
	}
	if o.Probe == nil {
		o.Probe = Probe
	}
	if o.Metrics == nil {
		o.Metrics = unmeasured{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Engine{
		options: o, wake: make(chan struct{}, 1), slots: make(chan struct{}, o.InFlight),
		states: map[string]*state{}, writes: map[Cause]int{},
	}
}

type unmeasured struct{}

func (unmeasured) Probe(string, Result) {}
func (unmeasured) Forget(string)        {}
func (unmeasured) Suspended(bool)       {}

// Run probes until ctx ends, and returns when no probe is under way and the metrics have
// forgotten all.
func (e *Engine) Run(ctx context.Context) {
	defer e.end()
	var probes sync.WaitGroup
	defer probes.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		// 1. Something is due, or a proxy is new, or a probe has ended. Each wake-up looks at
		//    what is due alone, whatever the size of the fleet.
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-e.wake:
		}
		// 2. Start what is due, as far as there are slots; the rest stays due.
		timer.Reset(e.start(ctx, &probes))
	}
}

func (e *Engine) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for key := range e.states {
		e.options.Metrics.Forget(key)
	}
	e.options.Metrics.Suspended(false)
}

const (
	// idle is how long the loop sleeps when nothing is due.
	idle = time.Minute
	// slack is how much too early a probe may begin, so that one wake-up serves several.
	slack = 50 * time.Millisecond
)

// start starts what is due, and returns how long until the next is.
func (e *Engine) start(ctx context.Context, probes *sync.WaitGroup) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	e.full = false
	for len(e.due) > 0 && !e.due[0].next.After(now.Add(slack)) {
		if len(e.slots) == cap(e.slots) { // the end of a probe wakes the loop
			e.full = true
			break
		}
		e.slots <- struct{}{}
		s := heap.Pop(&e.due).(*state)
		s.next = now.Add(s.proxy.Check.Interval)
		version, proxy := s.version, s.proxy
		probes.Go(func() {
			got := e.options.Probe(ctx, proxy)
			<-e.slots
			if ctx.Err() == nil {
				e.land(s, version, got, now, time.Now())
			}
		})
	}
	e.alarm = now.Add(idle)
	if len(e.due) > 0 && !e.full && e.due[0].next.Before(e.alarm) {
		e.alarm = e.due[0].next
	}
	return e.alarm.Sub(now)
}

// nudge wakes the loop if it would sleep for too long.
func (e *Engine) nudge() {
	if e.full || len(e.due) > 0 && e.due[0].next.Before(e.alarm) {
		select {
		case e.wake <- struct{}{}:
		default:
		}
	}
}

// land takes the result of a probe that began at began.
func (e *Engine) land(s *state, version int, got Result, began, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer e.nudge()
	if s.gone {
		return
	}
	defer func() { heap.Push(&e.due, s) }()
	if version != s.version { // it asked what is not asked any more
		s.next = now
		return
	}
	e.options.Metrics.Probe(s.proxy.Key, got)
	e.weather.leave(s)
	s.record.add(got, now)
	e.weather.enter(s)
	held := e.hold(now)
	e.judge(s, held, now)
	s.learn(got)
	s.next = s.after(began, held)
	e.report(s, got, now)
}

// judge comes to a verdict.
func (e *Engine) judge(s *state, held bool, now time.Time) {
	e.weather.leave(s)
	before := s.record.good()
	s.record.judge(s.proxy.Check, held)
	e.weather.enter(s)
	switch after := s.record.good(); {
	case before && !after:
		e.weather.fall(s, now)
	case after:
		e.weather.rise(s)
	}
}

// learn takes the address that the first good probe finds for the one that must be found.
func (s *state) learn(got Result) {
	if got.Class == OK && s.proxy.Check.VerifyEgress && !s.proxy.Egress.IsValid() {
		s.proxy.Egress = got.Egress.Unmap()
	}
}

// report passes on what is worth a write. What is dropped changes nothing here, so that
// the next probe tries again.
func (e *Engine) report(s *state, got Result, now time.Time) {
	cause := s.record.news(s.egress(), now)
	if cause == "" {
		return
	}
	before := s.snapshot
	s.snapshot = s.verdict(got, now)
	if !e.options.Emit(s.proxy.Key) {
		s.snapshot = before
		return
	}
	s.record.told(s.egress(), now)
	s.moved = false
	e.writes[cause]++
}

// Writes returns how many writes each cause was worth since the engine began.
func (e *Engine) Writes() map[Cause]int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.writes)
}
