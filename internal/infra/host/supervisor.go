package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// Supervisor runs the proxies.
type Supervisor struct {
	options  Options
	launcher launcher
	lock     *stateLock
	// hard ends when nothing is drained or waited for any more.
	hard context.Context
	kill context.CancelFunc
	// background ends processes that no keeper owns.
	background sync.WaitGroup

	mu      sync.Mutex
	keepers map[model.GatewayID]*keeper
	// leaving are keepers of Gateways that are gone, until they are done.
	leaving []*keeper
	// found are processes of an earlier Supervisor that no Gateway has claimed; nil after the first Ensure.
	found   map[model.GatewayID]*process
	stopped bool
	ended   chan struct{} // closed when Stop is done
	failed  error         // of Stop; valid once ended is closed
}

// New returns a Supervisor without proxies. Those that an earlier process left
// in StateDir wait to be adopted by the first Ensure if KeepProxies is set; else
// they stop listening before New returns, drain and end. ctx bounds the wait for
// a predecessor that still holds the directory.
func New(ctx context.Context, o Options) (*Supervisor, error) {
	o = o.withDefaults()
	proxies, err := filepath.Abs(filepath.Join(o.StateDir, "proxies"))
	if err != nil {
		return nil, fmt.Errorf("state directory %q: %w", o.StateDir, err)
	}
	if err := os.MkdirAll(proxies, 0o700); err != nil {
		return nil, fmt.Errorf("state directory %q: %w; name one that can be written with --state-dir", o.StateDir, err)
	}
	sockets, err := SocketDir(o.StateDir)
	if err != nil {
		return nil, err
	}
	l, err := newLauncher(o, proxies, sockets)
	if err != nil {
		return nil, err
	}
	lock, err := lockState(ctx, o.StateDir)
	if err != nil {
		return nil, err
	}
	l.spawner = newSpawner()
	s := &Supervisor{options: o, launcher: l, lock: lock, keepers: map[model.GatewayID]*keeper{}, ended: make(chan struct{})}
	s.hard, s.kill = context.WithCancel(context.Background())
	s.takeOver()
	return s, nil
}

// Ensure makes the set of running proxies equal to the Gateways; it does not
// wait for them. The first call ends what New found of other Gateways, so it is
// to be made with the complete set.
func (s *Supervisor) Ensure(gateways []model.Gateway) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return
	}
	s.leaving = slices.DeleteFunc(s.leaving, (*keeper).isDone)
	wanted := make(map[model.GatewayID]model.Settings, len(gateways))
	for _, g := range gateways {
		wanted[g.ID] = g.Settings
	}
	for id, k := range s.keepers {
		if _, ok := wanted[id]; !ok {
			k.retire()
			s.leaving = append(s.leaving, k)
			delete(s.keepers, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(wanted)) {
		if k, ok := s.keepers[id]; ok {
			k.want(wanted[id])
			continue
		}
		s.begin(id, wanted[id])
	}
	s.dropUnclaimed()
}

// begin starts the keeper of a Gateway. A Gateway that comes back waits for its
// earlier keeper, which holds its ports and its folder.
func (s *Supervisor) begin(id model.GatewayID, settings model.Settings) {
	k := newKeeper(s, id, settings)
	s.keepers[id] = k
	found := s.found[id]
	delete(s.found, id)
	var before []*keeper
	for _, old := range s.leaving {
		if old.gateway == id {
			before = append(before, old)
		}
	}
	go func() {
		for _, old := range before {
			<-old.done
		}
		k.run(found)
	}()
}

// dropUnclaimed ends found processes of Gateways that are not wanted and
// removes folders that nobody needs. It works once.
func (s *Supervisor) dropUnclaimed() {
	if s.found == nil {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(s.found)) {
		k := newKeeper(s, id, model.Settings{})
		k.retire()
		s.leaving = append(s.leaving, k)
		go k.run(s.found[id])
	}
	if err := s.launcher.prune(s.keepers); err != nil {
		s.options.Log.Warn("cannot remove folders of Gateways that are gone", observe.KeyError, err)
	}
	s.found = nil
}

// prune removes the folders of Gateways that have no keeper and no process.
func (l launcher) prune(keepers map[model.GatewayID]*keeper) error {
	keep := map[string]bool{}
	for id := range keepers {
		keep[string(l.dir(id))] = true
	}
	var errs []error
	for _, dir := range folders(l.proxies) {
		if !keep[dir] && len(folders(dir)) == 0 {
			errs = append(errs, os.RemoveAll(dir))
		}
	}
	return errors.Join(errs...)
}

// release frees the ports of a process before it returns, and ends the process
// in the background. One that does not answer cannot drain: it ends at once.
func (s *Supervisor) release(p *process) {
	p.Ending = true
	if err := p.dir.write(p.record); err != nil {
		s.options.Log.Warn("cannot mark Envoy as ending", observe.KeyGateway, p.Gateway, observe.KeyPID, p.PID, observe.KeyError, err)
	}
	if p.stopListening(s.hard) != nil {
		s.tellEnd(p, p.kill())
		return
	}
	s.background.Go(func() { s.end(p) })
}

// end drains and ends a process.
func (s *Supervisor) end(p *process) {
	s.tellEnd(p, p.end(s.hard, s.options.DrainTimeout))
}

func (s *Supervisor) tellEnd(p *process, err error) {
	if err != nil {
		err = fmt.Errorf("gateway %s: end envoy (pid %d): %w", p.Gateway, p.PID, err)
	}
	s.options.Observe(Event{Kind: Exited, Gateway: p.Gateway, Node: p.Node, PID: p.PID, Err: err})
}

// Stop drains and ends all proxies (or, with KeepProxies, leaves them) and
// waits. When ctx ends they are killed. Later calls wait for the first.
func (s *Supervisor) Stop(ctx context.Context) error {
	stop := context.AfterFunc(ctx, s.kill)
	defer stop()
	s.mu.Lock()
	first := !s.stopped
	s.stopped = true
	keepers := append(slices.Collect(maps.Values(s.keepers)), s.leaving...)
	found := s.found
	s.found = nil
	s.mu.Unlock()
	if !first {
		<-s.ended
		return s.failed
	}
	defer close(s.ended)
	for _, k := range keepers {
		k.cancel()
	}
	for _, p := range found {
		p.leave()
	}
	for _, k := range keepers {
		<-k.done
	}
	s.background.Wait()
	s.kill()
	s.launcher.spawner.close()
	s.failed = errors.Join(RemoveSocketDir(s.launcher.sockets), s.lock.release())
	return s.failed
}

// running returns the process of a Gateway.
func (s *Supervisor) running(g model.GatewayID) (*process, error) {
	s.mu.Lock()
	k, ok := s.keepers[g]
	s.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("gateway %s: %w", g, ErrNotRunning)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.current == nil {
		return nil, fmt.Errorf("gateway %s: %w", g, ErrNotRunning)
	}
	return k.current, nil
}

func (k *keeper) isDone() bool {
	select {
	case <-k.done:
		return true
	default:
		return false
	}
}
