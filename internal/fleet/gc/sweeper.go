// Package gc deletes instances that nobody owns: those whose Proxy is gone, and those
// of a Proxy that has another one. It is the net below the reconciler, for what was
// created and never written down.
//
// A sweep turns three readings, in this order, into deletions: every provider's list,
// then the Proxies, then, past any cache, what proves each deletion right. What cannot
// be read spares instances, never condemns them. Sweeps block on providers and on the
// store; one runs at a time, and only in the process that leads.
package gc

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// Objects is where Proxies are kept. A method that cannot see everything returns an
// error, never less.
type Objects interface {
	// Proxies returns all that there are, perhaps from a cache; not to be changed.
	Proxies(ctx context.Context) ([]*egress_v1alpha1.Proxy, error)
	// CurrentProxies reads them all past any cache.
	CurrentProxies(ctx context.Context) ([]*egress_v1alpha1.Proxy, error)
	// Current reads one past any cache; reconcile.ErrNoObject.
	Current(ctx context.Context, key types.NamespacedName) (*egress_v1alpha1.Proxy, error)
}

// Recorder counts what sweeps do.
type Recorder interface {
	// SweepEnded counts a sweep: "complete", or "partial" where a provider or a scope of
	// one could not be listed.
	SweepEnded(outcome string)
	// SweepRefused counts a sweep that was not made, or broken off: "namespaced" or "objects".
	SweepRefused(cause string)
	// InstanceSwept counts an instance with a verdict to delete it, and what came of it:
	// "deleted", "failed", "spared" (a last look found an owner), "deferred" (beyond what
	// one sweep may delete) or "dry_run".
	InstanceSwept(provider, verdict, outcome string)
}

// Sweeper is one fleet's. Its fields are set before the first call; it is used by one
// goroutine.
type Sweeper struct {
	Rules
	Objects Objects
	// Providers by the name that spec.provider has.
	Providers map[string]provider.Provider
	// Interval is the time before the first sweep, and between two.
	Interval time.Duration
	// DryRun logs what would be deleted, and deletes nothing.
	DryRun bool
	// Namespaced says that Objects shows some namespaces only. Instances of Proxies in
	// the others would look like orphans, so there are no sweeps then, except with
	// AllowNamespaced: that no other namespace has Proxies.
	Namespaced, AllowNamespaced bool

	Now      func() time.Time
	Log      *slog.Logger
	Recorder Recorder

	memory memory
}

// Run sweeps until ctx ends, for the first time after a whole Interval: what an
// earlier process left half done is to be taken up by the reconciler before.
func (s *Sweeper) Run(ctx context.Context) {
	if s.refuses() {
		<-ctx.Done()
		return
	}
	timer := time.NewTimer(s.Interval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			s.Sweep(ctx)
			timer.Reset(s.Interval)
		}
	}
}

// refuses says whether no sweep may be made at all, and why, once.
func (s *Sweeper) refuses() bool {
	if !s.Namespaced || s.AllowNamespaced {
		return false
	}
	s.Recorder.SweepRefused("namespaced")
	s.Log.Error("no instance is swept: only some namespaces are watched, and instances of Proxies in the others would look like orphans; watch all, or give --gc-allow-namespaced if no other has Proxies")
	return true
}

// Sweep deletes what nobody owns. It logs what it could not do; the next sweep tries again.
func (s *Sweeper) Sweep(ctx context.Context) {
	if s.refuses() {
		return
	}
	now := s.Now()
	seen, complete := s.look(ctx, now)
	if ctx.Err() != nil {
		return
	}
	proxies, err := s.proxies(ctx)
	if err != nil {
		s.freeze(err)
		return
	}
	kill, wait := s.Choose(seen, proxies, now)
	s.postpone(wait)
	if err := s.execute(ctx, kill); err != nil {
		s.freeze(err)
		return
	}
	outcome := "complete"
	if !complete {
		outcome = "partial"
	}
	s.Recorder.SweepEnded(outcome)
	s.Log.Debug("swept", observe.KeyTotal, len(seen), observe.KeyCut, len(kill))
}

// freeze gives a sweep up because Proxies cannot be read.
func (s *Sweeper) freeze(err error) {
	s.Recorder.SweepRefused("objects")
	s.Log.Error("the sweep is given up: what Proxies there are cannot be read, so that any instance may have an owner", observe.KeyError, err)
}

// postpone tells of what is more than one sweep may delete.
func (s *Sweeper) postpone(wait []Victim) {
	if len(wait) == 0 {
		return
	}
	s.Log.Warn("more instances are to be deleted than one sweep may; the rest waits for the next ones", observe.KeyTotal, len(wait))
	for _, v := range wait {
		s.Recorder.InstanceSwept(v.Provider, string(v.Verdict), "deferred")
	}
}
