package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	core_v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

type proxy = egress_v1alpha1.Proxy

// maxSteps ends a pass that would go on for ever, which none should.
const maxSteps = 64

// pass is one conversation with lifecycle.
type pass struct {
	r     *Reconciler
	key   types.NamespacedName
	state lifecycle.State
	// configured are the providers, as the Secret of providerConfigRef says.
	configured map[string]provider.Provider
}

func (r *Reconciler) begin(p *proxy) lifecycle.State {
	s := lifecycle.State{
		Proxy: p, Now: r.Now(), Providers: slices.Sorted(maps.Keys(r.Providers)),
		Deleted: make(map[string]error),
	}
	if r.Health != nil {
		s.Doubtful, s.Unprobed = r.Health.Doubtful(), !r.Health.Probed(p)
		if v, ok := r.Health.Snapshot(p); ok {
			s.Verdict = &v
		}
	}
	return s
}

func (w *pass) run(ctx context.Context) (Result, error) {
	for range maxSteps {
		a := lifecycle.Next(&w.state)
		if w.doubtful(a) {
			a = lifecycle.Action{Do: lifecycle.Refresh}
		}
		if a.Do == lifecycle.Finish {
			return w.finish(ctx, a)
		}
		if done, err := w.take(ctx, a); done || err != nil {
			return Result{}, err
		}
		// What a call answered when its time was over says nothing of the world.
		if err := ctx.Err(); err != nil {
			return Result{}, fmt.Errorf("proxy %s, %s: %w", w.key, a.Do, err)
		}
	}
	return Result{}, fmt.Errorf("proxy %s: no end after %d steps: please report this", w.key, maxSteps)
}

// doubtful says whether a pass that is about to say that a Proxy serves says so on the
// word of a cache, after this process has let its instance go.
func (w *pass) doubtful(a lifecycle.Action) bool {
	return a.Do == lifecycle.Finish && a.Proxy != nil && lifecycle.Serves(a.Proxy) && !w.state.Fresh && w.r.released.has(w.key)
}

// take does one step and notes its outcome. It is done when the object is gone.
func (w *pass) take(ctx context.Context, a lifecycle.Action) (done bool, err error) {
	switch a.Do {
	case lifecycle.Refresh:
		return w.refresh(ctx)
	case lifecycle.PatchMetadata:
		return w.patch(ctx, a.Proxy)
	case lifecycle.ReadInputs:
		w.state.Inputs = w.inputs(ctx)
	case lifecycle.AskBudget:
		return false, w.ask(ctx)
	case lifecycle.Drain:
		w.state.Leases = new(w.drain(ctx))
	default:
		w.call(ctx, a)
	}
	return false, nil
}

// refresh reads past caches. What is known stays so if the object is still the same.
func (w *pass) refresh(ctx context.Context) (gone bool, err error) {
	p, err := bounded(ctx, func(ctx context.Context) (*proxy, error) { return w.r.Objects.Current(ctx, w.key) })
	if errors.Is(err, ErrNoObject) {
		w.r.released.remove(w.key)
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read proxy %s: %w", w.key, err)
	}
	if old := w.state.Proxy; p.UID != old.UID || p.ResourceVersion != old.ResourceVersion {
		w.state, w.configured = w.r.begin(p), nil
	}
	w.state.Proxy, w.state.Fresh = p, true
	return false, nil
}

func (w *pass) patch(ctx context.Context, next *proxy) (gone bool, err error) {
	_, err = bounded(ctx, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, w.r.Objects.PatchMetadata(ctx, w.state.Proxy, next)
	})
	if errors.Is(err, ErrNoObject) {
		w.r.released.remove(w.key)
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("write metadata of proxy %s: %w", w.key, err)
	}
	w.state.Proxy = next
	return false, nil
}

// inputs reads what the Proxy refers to.
func (w *pass) inputs(ctx context.Context) *lifecycle.Inputs {
	p := w.state.Proxy
	secrets := make(map[string]*core_v1.Secret)
	for _, name := range lifecycle.SecretNames(p) {
		key := types.NamespacedName{Namespace: p.Namespace, Name: name}
		secret, err := bounded(ctx, func(ctx context.Context) (*core_v1.Secret, error) { return w.r.Objects.Secret(ctx, key) })
		if err != nil && !errors.Is(err, ErrNoObject) {
			return lifecycle.Unread(fmt.Errorf("read Secret %s of proxy %s: %w", key, w.key, err))
		}
		if err == nil {
			secrets[name] = secret
		}
	}
	in := lifecycle.Resolve(p, w.r.Cluster, secrets, w.r.Forward)
	if err := w.configure(in); err != nil {
		return lifecycle.Refused(p, err)
	}
	return in
}

// finish writes the status if it means something else than before.
func (w *pass) finish(ctx context.Context, a lifecycle.Action) (Result, error) {
	p := a.Proxy
	if p == nil {
		return Result{After: a.After}, a.Err
	}
	if w.r.Health != nil && lifecycle.Serves(p) {
		if v, ok := w.r.Health.Snapshot(p); ok {
			lifecycle.ApplyHealth(p, v, w.state.Now)
		}
	}
	lifecycle.Conclude(p)
	if err := w.write(ctx, p); err != nil {
		return Result{}, errors.Join(a.Err, err)
	}
	if lifecycle.Serves(p) {
		if err := w.serves(ctx, p); err != nil {
			return Result{}, errors.Join(a.Err, err)
		}
	}
	return Result{After: a.After}, a.Err
}

func (w *pass) write(ctx context.Context, p *proxy) error {
	if equality.Semantic.DeepEqual(w.state.Proxy.Status, p.Status) {
		return nil
	}
	_, err := bounded(ctx, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, w.r.Objects.PatchStatus(ctx, w.state.Proxy, p)
	})
	if err != nil && !errors.Is(err, ErrNoObject) {
		return fmt.Errorf("write status of proxy %s: %w", w.key, err)
	}
	return nil
}
