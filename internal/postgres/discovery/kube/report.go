package kube

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery/kube/index"
)

// remindEvery is how often the Events of problems that last are written anew: the API
// forgets them after an hour.
const remindEvery = 20 * time.Minute

// reporter tells of problems that begin and end, in the log and by Events at the Service.
type reporter struct {
	problems func(types.NamespacedName) []index.Problem
	write    func(context.Context, index.Problem) error
	log      *slog.Logger
	wake     chan struct{}

	mu      sync.Mutex
	changed map[types.NamespacedName]bool

	told   map[types.NamespacedName][]index.Problem // by the goroutine of run
	failed bool                                     // to write the last Event
}

// changes says that the problems of Services may be others now.
func (r *reporter) changes(services []types.NamespacedName) {
	if len(services) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, service := range services {
		r.changed[service] = true
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *reporter) take() map[types.NamespacedName]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.changed
	r.changed = map[types.NamespacedName]bool{}
	return taken
}

// run reports until ctx ends, once all is known: before that a Service may only seem to
// have a problem.
func (r *reporter) run(ctx context.Context, known <-chan struct{}) {
	select {
	case <-known:
	case <-ctx.Done():
		return
	}
	remind := time.NewTicker(remindEvery)
	defer remind.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
			for service := range r.take() {
				r.report(ctx, service)
			}
		case <-remind.C:
			for _, problems := range r.told {
				r.events(ctx, problems)
			}
		}
	}
}

// report tells what is new of a Service.
func (r *reporter) report(ctx context.Context, service types.NamespacedName) {
	before, now := r.told[service], r.problems(service)
	missing := func(from []index.Problem) func(index.Problem) bool {
		return func(p index.Problem) bool { return !slices.Contains(from, p) }
	}
	begun := slices.Collect(filter(now, missing(before)))
	for _, p := range begun {
		r.log.Warn("a Service has a problem", observe.KeyObject, service.String(), observe.KeyReason, p.Reason, observe.KeyMessage, p.String())
	}
	for p := range filter(before, missing(now)) {
		r.log.Info("a problem of a Service is over", observe.KeyObject, service.String(), observe.KeyReason, p.Reason)
	}
	r.events(ctx, begun)
	if r.told[service] = now; len(now) == 0 {
		delete(r.told, service)
	}
}

func filter(all []index.Problem, keep func(index.Problem) bool) func(func(index.Problem) bool) {
	return func(yield func(index.Problem) bool) {
		for _, p := range all {
			if keep(p) && !yield(p) {
				return
			}
		}
	}
}

// events writes them. That it cannot is told once.
func (r *reporter) events(ctx context.Context, problems []index.Problem) {
	for _, p := range problems {
		err := r.write(ctx, p)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !r.failed {
			r.log.Warn("an Event cannot be written; the log has what Events would say", observe.KeyObject, p.Service.String(), observe.KeyError, cause(err))
		}
		r.failed = err != nil
	}
}
