package pipeline

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// Each namespace has a budget of trials, which comes back with time.
func TestBudgetOfANamespace(t *testing.T) {
	inWorld(t, func(w world) {
		a := w.loop.Admitter()
		a.budget.spend("shop", budgetBurst, time.Now())

		got := w.admit(propose(w, apart("more", "cart")))
		if got.Admitted || got.Reason != admin.RefusedBudget || got.RetryAfter != 10*time.Millisecond || got.Trials != 0 {
			w.Errorf("%+v", got)
		}
		elsewhere := apart("more", "cart")
		elsewhere.Namespace = "other"
		if got := w.admit(propose(w, elsewhere)); got.Reason == admin.RefusedBudget {
			w.Error("another namespace waits, too")
		}
		time.Sleep(time.Second)
		if got := w.admit(propose(w, apart("more", "cart"))); !got.Admitted {
			w.Errorf("a second later: %+v", got)
		}
	})
}

// A missing dependency is retried against where objects are kept.
func TestMissingDependencyIsFetched(t *testing.T) {
	inWorld(t, func(w world) {
		a := w.loop.Admitter()
		rules := a.rules
		needed := snapshot.Ref("Service", "shop", "needed")
		a.rules.Check = nil
		at := *w.loop.board.current.Load()
		at.check = refuseWithout(rules, needed)
		w.loop.board.publish(&at)
		asked := 0
		a.refresh = func(_ context.Context, missing []store.Key) []store.Edit {
			asked++
			if len(missing) != 1 || missing[0] != needed {
				w.Errorf("asked for %v", missing)
			}
			return []store.Edit{edit("Service", service("needed"))}
		}

		if got := w.admit(propose(w, apart("more", "needed"))); !got.Admitted || asked != 1 {
			w.Errorf("asked %d times: %+v", asked, got)
		}
		a.refresh = func(context.Context, []store.Key) []store.Edit { return nil }
		if got := w.admit(propose(w, apart("more", "needed"))); got.Admitted {
			w.Error("admitted without what it needs")
		}
	})
}

func TestNoVerdictBeforeTheFirstRound(t *testing.T) {
	a := New(Options{Graph: NewGraph(compileOptions, envoyOptions), Now: time.Now, Metrics: newMetrics()}).Admitter()

	_, err := a.Admit(t.Context(), deletion("Service", "shop/cart"))

	if n, is := errors.AsType[*admin.NoVerdictError](err); !is || n.RetryAfter == 0 {
		t.Errorf("%v", err)
	}
}
