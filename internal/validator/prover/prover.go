package prover

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/validator"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// Name is how operators know this validator.
const Name = "proving Envoy"

// Group is the node cluster of the proving Envoy, and so the group of all that it gets.
const Group = "prover"

// ServerOptions are those of the server that the proving Envoy connects to: nothing is
// served, so that nothing that is no longer used has to stay.
func ServerOptions() xdsserve.Options {
	return xdsserve.Options{WarmTimeout: time.Millisecond, Grace: time.Millisecond, Drain: time.Millisecond}
}

// Target is the server that the proving Envoy alone connects to.
type Target interface {
	Publish(xdsserve.Update) (seq uint64)
	Ledger(group string) []xdsserve.Belief
	// Events is signalled when Take has something to return.
	Events() <-chan struct{}
	Take() []xdsserve.Event
}

// Process is the proving Envoy as a process of this machine, which is started anew
// whenever it ends.
type Process interface {
	// Answers returns nil if it answers before ctx ends.
	Answers(ctx context.Context) error
	// Restart ends it at once.
	Restart()
}

// Options are the parts that a Prover joins.
type Options struct {
	Target  Target
	Process Process
	Log     *slog.Logger // default: nothing is logged
	// Patience is how long a trial may take, and Each how much more for each of its
	// resources; the defaults are 3 s and 5 ms. Start is how long the first trial
	// waits for the proving Envoy to come up; default 10 s.
	Patience, Each, Start time.Duration
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Patience == 0 {
		o.Patience = 3 * time.Second
	}
	if o.Each == 0 {
		o.Each = 5 * time.Millisecond
	}
	if o.Start == 0 {
		o.Start = 10 * time.Second
	}
	return o
}

// Prover implements validator.Validator.
type Prover struct {
	Options
	watch *watch

	turn   sync.Mutex // held by the trial that runs; guards what follows
	shadow *shadow
	known  known
	late   bool   // the proving Envoy was not there when it should have been, and has not come since
	back   uint64 // the Publish that went back to what was accepted; 0 once that is known to be there
}

// New returns a Prover. It knows of no proving Envoy until Run runs.
func New(o Options) (*Prover, error) {
	p := &Prover{Options: o.withDefaults(), watch: newWatch(), shadow: newShadow()}
	set, err := blanks()
	if err != nil {
		return nil, err
	}
	p.Target.Publish(xdsserve.Update{Set: set})
	return p, nil
}

// Run takes what the proving Envoy answers, and looks after one that does not, until
// ctx ends. Trials need it.
func (p *Prover) Run(ctx context.Context) error {
	for {
		_, changed := p.watch.look()
		p.nurse(ctx)
		select {
		case <-p.Target.Events():
			events := p.Target.Take()
			p.watch.tell(func(c *condition) {
				for _, e := range events {
					c.answered(e)
				}
			})
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// nurseTimeout is how long a proving Envoy that was too slow may take to say that it lives.
const nurseTimeout = 2 * time.Second

// nurse restarts a proving Envoy that hangs.
func (p *Prover) nurse(ctx context.Context) {
	if now, _ := p.watch.look(); !now.doubted {
		return
	}
	asking, cancel := context.WithTimeout(ctx, nurseTimeout)
	defer cancel()
	if err := p.Process.Answers(asking); err != nil && ctx.Err() == nil {
		p.Log.WarnContext(ctx, "the proving Envoy hangs and is started again", observe.KeyError, err)
		p.Process.Restart()
		p.watch.tell(func(c *condition) { c.proxy, c.settled = "", 0 })
	}
	p.watch.tell(func(c *condition) { c.doubted = false })
}

// Died tells that the proving Envoy ended, and nobody told it to.
func (p *Prover) Died(why error) {
	p.watch.tell(func(c *condition) { c.deaths, c.vain, c.why = c.deaths+1, c.vain+1, why })
}

// Name implements validator.Validator.
func (p *Prover) Name() string { return Name }

// Judges implements validator.Validator: endpoints are addresses, which we check.
func (p *Prover) Judges(t xdsserve.Type) bool { return judged(t) }

// Unavailable is why the proving Envoy would give no verdict now, and empty otherwise.
func (p *Prover) Unavailable() string {
	now, _ := p.watch.look()
	switch {
	case now.proxy != "":
		return ""
	case now.why != nil:
		return "it is not connected; the last one ended: " + now.why.Error()
	default:
		return "it is not connected"
	}
}

// Validate implements validator.Validator.
func (p *Prover) Validate(ctx context.Context, c validator.Candidate) validator.Verdict {
	p.turn.Lock()
	defer p.turn.Unlock()
	if refusals := p.known.among(c.Delta, time.Now()); len(refusals) > 0 {
		return validator.Verdict{Refusals: refusals}
	}
	s := p.shadow.advance(c.Delta)
	v := p.judge(ctx, s)
	if len(v.Refusals) == 0 && v.Unavailable == "" {
		return v
	}
	p.shadow.retreat(s)
	for _, r := range v.Refusals {
		if len(r.Resources) == 1 {
			p.known.add(content{r.Resources[0], s.after[r.Resources[0]]}, r, time.Now())
		}
	}
	return v
}
