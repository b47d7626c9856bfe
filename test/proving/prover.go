package proving

import (
	"context"
	"sync"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/infra/host"
	"github.com/gatehouse-proxy/gatehouse/internal/validator"
	"github.com/gatehouse-proxy/gatehouse/internal/validator/prover"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// Prover is one with its Envoy.
type Prover struct {
	*prover.Prover
	*Envoy
	// Before is called with each update before it is published, if it is not nil.
	Before    func(xdsserve.Update)
	published int
}

// New returns a Prover without an Envoy, which Begin starts.
func New(t testing.TB, o prover.Options) *Prover {
	t.Helper()
	p := &Prover{}
	p.Envoy = start(t, prover.Group, prover.ServerOptions(), func(e host.Event) {
		if e.Kind == host.Exited && e.Err != nil {
			p.Died(e.Err)
		}
	})
	o.Target, o.Process = target{p.target, p}, p
	var err error
	p.Prover, err = prover.New(o)
	must(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { _ = p.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return p
}

// Published counts the updates.
func (p *Prover) Published() int { return p.published }

// Answers implements prover.Process.
func (p *Prover) Answers(ctx context.Context) error { return p.processes.Answers(ctx, prover.Group) }

// Restart implements prover.Process.
func (p *Prover) Restart() { _ = p.processes.Restart(prover.Group) }

// Try judges a change of what was accepted.
func (p *Prover) Try(t testing.TB, u xdsserve.Update) validator.Verdict {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	return p.Validate(ctx, validator.Candidate{Delta: u})
}

// target publishes with something to do before.
type target struct {
	prover.Target
	of *Prover
}

func (t target) Publish(u xdsserve.Update) uint64 {
	if t.of.Before != nil {
		t.of.Before(u)
	}
	t.of.published++
	return t.Target.Publish(u)
}
