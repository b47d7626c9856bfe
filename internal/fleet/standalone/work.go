package standalone

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/explain"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
)

// stepsTimeout bounds the steps of one Proxy in one go, stepsGrace those under way at
// a stop.
const (
	stepsTimeout = 5 * time.Minute
	stepsGrace   = 10 * time.Second
)

// work lets one Proxy take its next steps. It returns false when there is no more work.
// Steps that have begun when ctx ends are finished: what is half done would be found
// again, but later.
func (f *Fleet) work(ctx, steps context.Context) bool {
	key, over := f.queue.Get()
	if over {
		return false
	}
	defer f.queue.Done(key)
	if ctx.Err() != nil {
		return false
	}
	if f.Ready() != nil { // converge enqueues all once the documents are stored
		return true
	}
	bounded, cancel := context.WithTimeout(steps, stepsTimeout)
	defer cancel()
	result, err := f.steps(bounded, key)
	f.settle(key, result, err)
	return true
}

// steps turns a panic into an error of this Proxy alone.
func (f *Fleet) steps(ctx context.Context, key types.NamespacedName) (result reconcile.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("this is a bug in Gatehouse, please report it: %v\n%s", p, debug.Stack())
		}
	}()
	return f.Reconcile(ctx, key)
}

// settle decides when the next steps are due.
func (f *Fleet) settle(key types.NamespacedName, result reconcile.Result, err error) {
	now := f.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.Objects.Record(key) == nil: // gone; a document may define it anew
		f.queue.Forget(key)
		delete(f.outcomes, key)
		f.poke()
	case err != nil && !errors.Is(err, context.Canceled):
		pause := f.queue.NumRequeues(key)
		f.queue.AddRateLimited(key)
		f.outcomes[key] = outcome{next: now.Add(pauseAfter(pause)), failures: pause + 1, err: explain.FirstLine(err)}
		f.Log.Warn("a step failed; tried again", observe.KeyKind, "Proxy", observe.KeyObject, key.String(), observe.KeyError, err)
	default:
		f.queue.Forget(key)
		o := outcome{}
		if result.After > 0 {
			after := jittered(result.After)
			o.next = now.Add(after)
			f.queue.AddAfter(key, after)
		}
		f.outcomes[key] = o
	}
}

// pauseAfter is the pause after so many failures before this one.
func pauseAfter(failures int) time.Duration {
	return min(firstPause<<min(failures, 20), lastPause)
}

// jittered spreads what was begun together: up to a tenth later.
func jittered(d time.Duration) time.Duration {
	return d + rand.N(d/10+1)
}

// needs says whether a Proxy needs a Secret now.
func needs(p *egress_v1alpha1.Proxy, secret types.NamespacedName) bool {
	return p.Namespace == secret.Namespace && slices.Contains(lifecycle.SecretNames(p), secret.Name)
}

// tell logs findings that are news.
func (f *Fleet) tell(news []snapshot.Finding) {
	for _, n := range news {
		f.Log.Warn("a document is refused", observe.KeyFile, place(n.Origin), observe.KeyKind, n.Object.Collection, observe.KeyObject, n.Object.Name,
			observe.KeyField, n.Step.Field, observe.KeyReason, n.Step.Reason, observe.KeyMessage, n.Step.Message)
	}
}
