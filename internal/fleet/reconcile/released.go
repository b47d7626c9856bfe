package reconcile

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// released are the Proxies whose instances this process has let go. Until it has seen
// another run, they count as down whatever a cache says of them.
type released struct {
	mu   sync.Mutex
	keys map[types.NamespacedName]bool
}

func (r *released) remove(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.keys, key)
}

func (r *released) has(key types.NamespacedName) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.keys[key]
}

// decide calls grants with the keys, and adds key if the answer is yes, in one step:
// two passes at once do not both get the last place.
func (r *released) decide(key types.NamespacedName, grants func(map[types.NamespacedName]bool) bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !grants(r.keys) {
		return false
	}
	if r.keys == nil {
		r.keys = make(map[types.NamespacedName]bool)
	}
	r.keys[key] = true
	return true
}

// ask asks the fleet's budget for the instance of this Proxy.
func (w *pass) ask(ctx context.Context) error {
	all, err := bounded(ctx, w.r.Objects.Proxies)
	if err != nil {
		return fmt.Errorf("list the fleet for the replacement of proxy %s: %w", w.key, err)
	}
	granted := w.r.released.decide(w.key, func(released map[types.NamespacedName]bool) bool {
		return w.r.MaxUnavailable.Grants(w.state.Proxy, all, released)
	})
	w.state.Granted = &granted
	return nil
}

// unknownLeases are more than none: a store that does not answer ends no drain before
// its time.
const unknownLeases = 1

// drain keeps new leases off and returns how many are left.
func (w *pass) drain(ctx context.Context) int {
	if w.r.Leases == nil {
		return 0
	}
	left, err := bounded(ctx, func(ctx context.Context) (int, error) { return w.r.Leases.Drain(ctx, w.state.Proxy.UID) })
	if err != nil {
		return unknownLeases
	}
	return left
}

// serves notes that an instance runs and may be used.
func (w *pass) serves(ctx context.Context, p *proxy) error {
	w.r.released.remove(w.key)
	if w.r.Leases == nil {
		return nil
	}
	_, err := bounded(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, w.r.Leases.Undrain(ctx, p.UID) })
	if err != nil {
		return fmt.Errorf("let proxy %s be leased: %w", w.key, err)
	}
	return nil
}
