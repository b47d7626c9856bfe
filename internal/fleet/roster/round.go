package roster

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
)

// round waits until each Proxy has been handled once.
type round struct {
	after   uint64 // only handlings after this one count
	pending map[types.NamespacedName]bool
	done    chan struct{}
}

// round has all Proxies that there are, or were, handled, and returns when they have
// been: with success or without. The error is that of ctx.
func (r *Roster) round(ctx context.Context) error {
	all, err := r.list(ctx)
	if err != nil {
		return err
	}
	now := &round{after: r.started.Load(), pending: map[types.NamespacedName]bool{}, done: make(chan struct{})}
	for _, p := range all {
		now.pending[keyOf(p)] = true
		r.exists(p)
	}
	r.mu.Lock()
	for key := range r.entries {
		now.pending[key] = true
	}
	keys := make([]types.NamespacedName, 0, len(now.pending))
	for key := range now.pending {
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		close(now.done)
	}
	r.rounds[now] = true
	r.mu.Unlock()
	for _, key := range keys {
		r.Touch(key)
	}
	select {
	case <-now.done:
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.rounds, now)
	return ctx.Err()
}

// list asks until it is answered, or ctx ends.
func (r *Roster) list(ctx context.Context) ([]*egress_v1alpha1.Proxy, error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		all, err := bounded(ctx, r.Objects.Proxies)
		if err == nil {
			return all, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// handled takes a key out of the rounds that began before its handling.
func (r *Roster) handled(key types.NamespacedName, n uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for w := range r.rounds {
		if n <= w.after || !w.pending[key] {
			continue
		}
		delete(w.pending, key)
		if len(w.pending) == 0 {
			close(w.done)
		}
	}
}

func keyOf(p *egress_v1alpha1.Proxy) types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
}

// bounded makes one call with a deadline.
func bounded[T any](ctx context.Context, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return call(ctx)
}
