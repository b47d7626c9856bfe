package health

import (
	"container/heap"
	"context"
	"hash/fnv"
	"sync"
	"time"
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

// Options make an Engine.
type Options struct {
	// InFlight bounds the probes at once. Default 1024.
	InFlight int
	// Emit is told that a proxy's state is worth a write. It must not block; false says
	// that it could not be passed on, and it is tried again with the next probe.
	Emit    func(key string) bool
	Metrics Metrics
	// Probe is nil but in tests.
	Probe func(context.Context, Proxy) Result
}

// Engine probes proxies until its context ends.
type Engine struct {
	options Options
	wake    chan struct{}
	slots   chan struct{}

	mu     sync.Mutex
	states map[string]*state
	due    queue
	good   int // states whose verdict is good
	shaky  int // of those, the ones that fail now
	held   bool
	since  time.Time // of held
}

// state is one proxy and what is known of it.
type state struct {
	proxy    Proxy
	record   record
	next     time.Time
	place    int // in the queue; -1 while it is probed
	flying   bool
	gone     bool
	snapshot *Snapshot
	ended    time.Time // of the last probe
}

// New returns an engine without proxies.
func New(o Options) *Engine {
	if o.InFlight == 0 {
		o.InFlight = 1024
	}
	if o.Probe == nil {
		o.Probe = Probe
	}
	return &Engine{options: o, wake: make(chan struct{}, 1), slots: make(chan struct{}, o.InFlight), states: map[string]*state{}}
}

// Set tells of a proxy, new or changed.
func (e *Engine) Set(p Proxy, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if old := e.states[p.Key]; old != nil {
		if same(&old.proxy, &p) {
			old.proxy = p // credentials may have changed
			return
		}
		e.drop(old)
	}
	s := &state{proxy: p, next: now.Add(phase(p.UID, p.Check.Interval))}
	s.record.verdict, s.record.reported, s.record.reportedAt = p.Known, p.Known, now
	e.states[p.Key] = s
	e.count(s, +1)
	heap.Push(&e.due, s)
	e.nudge()
}

// same says whether counters go on.
func same(a, b *Proxy) bool {
	return a.UID == b.UID && a.Instance == b.Instance && a.Scheme == b.Scheme && a.Host == b.Host && a.Port == b.Port &&
		a.Egress == b.Egress && a.Check.equal(b.Check)
}

// phase spreads first probes over an interval, for each proxy the same after a restart.
func phase(uid string, interval time.Duration) time.Duration {
	h := fnv.New64a()
	_, _ = h.Write([]byte(uid))
	return time.Duration(h.Sum64() % uint64(interval))
}

// Remove tells that a proxy is not to be probed any more.
func (e *Engine) Remove(key string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s := e.states[key]; s != nil {
		e.drop(s)
		e.options.Metrics.Forget(key)
	}
}

func (e *Engine) drop(s *state) {
	e.count(s, -1)
	s.gone = true
	if !s.flying {
		heap.Remove(&e.due, s.place)
	}
	delete(e.states, s.proxy.Key)
}

// count keeps how many are good, and how many of those fail.
func (e *Engine) count(s *state, by int) {
	if v := s.record.verdict; v != nil && *v {
		e.good += by
	}
	if s.record.shaky() {
		e.shaky += by
	}
}

// Snapshot returns what of a proxy is worth a write, false before its first verdict.
func (e *Engine) Snapshot(key string) (Snapshot, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s := e.states[key]; s != nil && s.snapshot != nil {
		return *s.snapshot, true
	}
	return Snapshot{}, false
}

// Last returns the most recent result of a proxy, false without one since it began.
func (e *Engine) Last(key string) (Result, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s := e.states[key]; s != nil && s.record.last.Class != "" {
		return s.record.last, true
	}
	return Result{}, false
}

func (e *Engine) nudge() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Run probes until ctx ends, and returns when no probe is under way.
func (e *Engine) Run(ctx context.Context) {
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

// idle is how long the loop sleeps when nothing is due.
const idle = time.Minute

// start starts what is due, and returns how long until the next is.
func (e *Engine) start(ctx context.Context, probes *sync.WaitGroup) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	for now := time.Now(); len(e.due) > 0; {
		s := e.due[0]
		if wait := s.next.Sub(now); wait > 0 {
			return min(wait, idle)
		}
		select {
		case e.slots <- struct{}{}:
		default:
			return idle // the end of a probe wakes the loop
		}
		heap.Pop(&e.due)
		s.flying = true
		s.next = now.Add(s.proxy.Check.Interval)
		proxy := s.proxy
		probes.Go(func() {
			got := e.options.Probe(ctx, proxy)
			<-e.slots
			if ctx.Err() == nil {
				e.land(s, got, now, time.Now())
			}
			e.nudge()
		})
	}
	return idle
}

// land takes the result of a probe that began at began.
func (e *Engine) land(s *state, got Result, began, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s.flying, s.ended = false, now
	if s.gone {
		return
	}
	e.count(s, -1)
	s.record.add(got, s.proxy.Check, e.suspended(now))
	e.count(s, +1)
	e.options.Metrics.Probe(s.proxy.Key, got)
	s.next = began.Add(s.record.pause(s.proxy.Check))
	heap.Push(&e.due, s)
	if !s.record.news(now) {
		return
	}
	before := s.snapshot
	s.snapshot = &Snapshot{Healthy: *s.record.verdict, Result: got, At: now}
	if !e.options.Emit(s.proxy.Key) {
		s.snapshot = before
		return
	}
	s.record.told(now)
}
