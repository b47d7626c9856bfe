package reconcile

import (
	"context"
	"fmt"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// configure makes the providers of this pass those of the Proxy's account.
func (w *pass) configure(in *lifecycle.Inputs) error {
	if in.ConfigErr != nil || in.Request.Config == nil {
		return nil
	}
	name := lifecycle.Maker(w.state.Proxy)
	p, err := provider.Configured(w.r.Providers[name], in.Request.Config)
	if err != nil {
		return err //nolint:wrapcheck // lifecycle names the Secret
	}
	w.configured = map[string]provider.Provider{name: p}
	return nil
}

func (w *pass) provider(name string) provider.Provider {
	if p, ok := w.configured[name]; ok {
		return p
	}
	return w.r.Providers[name]
}

// call makes one call of the provider, and notes its answer.
func (w *pass) call(ctx context.Context, a lifecycle.Action) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	s, p := &w.state, w.provider(a.Provider)
	switch a.Do {
	case lifecycle.Get:
		inst, err := p.Get(ctx, a.ID)
		s.Got = &lifecycle.Answer{Instance: inst, Err: err}
	case lifecycle.Find:
		found, err := p.Find(ctx, w.r.Cluster, string(s.Proxy.UID))
		s.Found = &lifecycle.Found{Instances: found, Err: err}
	case lifecycle.Create:
		inst, err := p.Create(ctx, s.Inputs.Request)
		s.Created = &lifecycle.Answer{Instance: inst, Err: err}
	case lifecycle.AskOutcome:
		s.Outcome = &lifecycle.Answer{Err: outcome(ctx, p, a)}
	case lifecycle.Delete:
		s.Deleted[a.ID] = p.Delete(ctx, a.ID)
	default:
		panic(fmt.Sprintf("no such step: %s", a.Do))
	}
}

func outcome(ctx context.Context, p provider.Provider, a lifecycle.Action) error {
	if teller, ok := p.(provider.CreateOutcome); ok {
		return teller.CreateError(ctx, a.ID, a.Operation) //nolint:wrapcheck // lifecycle names the step
	}
	return nil
}
