package host

import (
	"context"
	"errors"
	"os"
	"reflect"
	"sync"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

const (
	// readyPoll grows from the first to the second while an Envoy is not live.
	firstReadyPoll = 10 * time.Millisecond
	maxReadyPoll   = 250 * time.Millisecond
	// levelRetry is when a log level that could not be set is set again.
	levelRetry = time.Second
)

// keeper owns the process of one Gateway, in one goroutine.
type keeper struct {
	s       *Supervisor
	gateway model.GatewayID
	// ctx ends when the process is to end.
	ctx     context.Context
	cancel  context.CancelFunc
	changed chan struct{} // of size 1: wanted has changed
	done    chan struct{}
	pause   backoff

	mu       sync.Mutex
	wanted   model.Settings
	current  *process
	ready    bool
	restarts int
	remove   bool // the Gateway is gone, and its folder goes with it
}

func newKeeper(s *Supervisor, g model.GatewayID, wanted model.Settings) *keeper {
	ctx, cancel := context.WithCancel(context.Background())
	return &keeper{
		s: s, gateway: g, wanted: wanted, ctx: ctx, cancel: cancel,
		changed: make(chan struct{}, 1), done: make(chan struct{}),
		pause: backoff{longest: s.options.MaxPause, jitter: s.options.Jitter},
	}
}

// want changes the settings.
func (k *keeper) want(s model.Settings) {
	k.mu.Lock()
	same := reflect.DeepEqual(k.wanted, s)
	k.wanted = s
	k.mu.Unlock()
	if same {
		return
	}
	select {
	case k.changed <- struct{}{}:
	default:
	}
}

// retire has the process end, and the Gateway's folder removed.
func (k *keeper) retire() {
	k.mu.Lock()
	k.remove = true
	k.mu.Unlock()
	k.cancel()
}

func (k *keeper) settings() model.Settings {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.wanted
}

// run keeps a process running until ctx ends. found is one from an earlier Supervisor.
func (k *keeper) run(found *process) {
	defer close(k.done)
	defer k.cancel()
	p := k.adopt(found)
	for k.ctx.Err() == nil {
		if p == nil {
			p = k.start()
		}
		if p == nil {
			break
		}
		why := k.mind(p)
		k.hold(nil)
		switch why {
		case retired:
		case outdated:
			k.s.release(p)
			p = nil
		case crashed:
			k.rest(p.PID, p.Node, p.err, k.pause.next(time.Since(p.began)))
			p = nil
		}
	}
	k.finish(p)
}

// adopt takes over a found process, if it is what would be started now and
// answers; else the process ends, and nil is returned.
func (k *keeper) adopt(p *process) *process {
	if p == nil || k.ctx.Err() != nil {
		return p
	}
	hash, err := k.s.launcher.hash(k.gateway, k.settings())
	switch {
	case err != nil || hash != p.Hash:
		k.s.release(p)
		return nil
	case !p.answers(k.ctx):
		if k.ctx.Err() != nil {
			return p
		}
		k.s.tellEnd(p, p.kill())
		return nil
	}
	k.hold(p)
	k.s.options.Observe(Event{Kind: Adopted, Gateway: k.gateway, Node: p.Node, PID: p.PID})
	return p
}

// start starts a process, and again after a pause until it succeeds or ctx ends.
func (k *keeper) start() *process {
	for k.ctx.Err() == nil {
		p, err := k.s.launcher.launch(k.gateway, k.settings(), time.Now())
		if err == nil {
			k.hold(p)
			k.s.options.Observe(Event{Kind: Started, Gateway: k.gateway, Node: p.Node, PID: p.PID})
			return p
		}
		k.rest(0, "", err, max(firstPause, k.pause.next(0)))
	}
	return nil
}

// rest tells of an unwanted end and waits; a change of the settings ends the wait.
func (k *keeper) rest(pid int, node string, why error, pause time.Duration) {
	k.mu.Lock()
	k.restarts++
	k.mu.Unlock()
	k.s.options.Observe(Event{Kind: Exited, Gateway: k.gateway, Node: node, PID: pid, Err: why, Restart: pause, Again: k.ctx.Err() == nil})
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-k.changed:
	case <-k.ctx.Done():
	}
}

// hold makes p what other goroutines see of this Gateway.
func (k *keeper) hold(p *process) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.current, k.ready = p, false
}

// outcome is why a process is no longer minded.
type outcome int

const (
	crashed outcome = iota
	outdated
	retired
)

// mind looks after a running process:
//  1. when it ends, or should end, that is the outcome;
//  2. when the settings change, those that a running process can take are
//     applied, and others make it outdated;
//  3. until it is live it is asked whether it is, and once it is, that is told;
//  4. its logs are kept short.
func (k *keeper) mind(p *process) outcome {
	poll := firstReadyPoll
	tick := time.NewTimer(0)
	defer tick.Stop()
	logs := time.NewTicker(trimInterval)
	defer logs.Stop()
	for {
		select {
		case <-p.exited:
			return crashed
		case <-k.ctx.Done():
			return retired
		case <-k.changed:
			if k.isOutdated(p) {
				return outdated
			}
			tick.Reset(0)
		case <-tick.C:
			if !k.tend(p) {
				tick.Reset(poll)
				poll = min(2*poll, k.maxPoll())
			}
		case <-logs.C:
			k.trimLogs(p)
		}
	}
}

func (k *keeper) trimLogs(p *process) {
	dir := p.dir.gatewayDir()
	if err := errors.Join(trim(dir.log(), maxLog), trim(dir.accessLog(), maxLog)); err != nil {
		k.s.options.Log.Warn("cannot keep the logs of Envoy short", observe.KeyGateway, k.gateway, observe.KeyError, err)
	}
}

func (k *keeper) isOutdated(p *process) bool {
	hash, err := k.s.launcher.hash(k.gateway, k.settings())
	return err == nil && hash != p.Hash
}

// maxPoll is the longest pause between two attempts of tend.
func (k *keeper) maxPoll() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ready {
		return levelRetry
	}
	return maxReadyPoll
}

// tend brings p to the wanted log level and asks whether it is live; true if
// there is nothing left to do.
func (k *keeper) tend(p *process) bool {
	ctx, cancel := context.WithTimeout(k.ctx, adminTimeout)
	defer cancel()
	done := true
	if level := logLevel(k.settings()); level != p.level {
		if err := p.admin.setLogLevel(ctx, level); err != nil {
			k.s.options.Log.WarnContext(ctx, "cannot set the log level of Envoy", observe.KeyGateway, k.gateway, observe.KeyValue, level, observe.KeyError, err)
			done = false
		} else {
			p.level = level
		}
	}
	return k.checkReady(ctx, p) && done
}

func (k *keeper) checkReady(ctx context.Context, p *process) bool {
	k.mu.Lock()
	ready := k.ready
	k.mu.Unlock()
	if ready {
		return true
	}
	if p.admin.ready(ctx) != nil {
		return false
	}
	k.mu.Lock()
	k.ready = true
	k.mu.Unlock()
	k.s.options.Observe(Event{Kind: Ready, Gateway: k.gateway, Node: p.Node, PID: p.PID})
	return true
}

// finish ends p, if there is one, or leaves it for the next Supervisor. With the
// Gateway its folder goes.
func (k *keeper) finish(p *process) {
	k.mu.Lock()
	remove := k.remove
	k.mu.Unlock()
	if p != nil && k.s.options.KeepProxies && !remove {
		p.leave()
		return
	}
	if p != nil {
		k.s.end(p)
	}
	if !remove {
		return
	}
	if err := os.RemoveAll(string(k.s.launcher.dir(k.gateway))); err != nil {
		k.s.options.Log.Warn("cannot remove the folder of a Gateway that is gone", observe.KeyGateway, k.gateway, observe.KeyError, err)
	}
}
