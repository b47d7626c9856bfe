package pipeline

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/acceptance"
	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/source/schema"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// Refresh reads objects that are missing from the view where they are kept, and returns
// those that are there. It returns before ctx ends or soon after.
type Refresh func(ctx context.Context, missing []store.Key) []store.Edit

// Admitter judges proposals on what the loop has published, in the goroutines of those
// who ask: it never waits for the loop, unless something just observed is not decided.
type Admitter struct {
	graph      *Graph
	rules      acceptance.Rules
	board      *board
	judges     judges
	schema     *schema.Validator
	controller gateway_v1.GatewayController
	metrics    *observe.Metrics
	now        func() time.Time
	// refresh is nil where what is not observed does not exist, as with files.
	refresh Refresh

	shared  sharing
	budget  budget
	turns   chan struct{} // holds a token for each evaluation in progress
	waiting atomic.Int32
}

var _ admin.Admitter = (*Admitter)(nil)

func newAdmitter(o Options, rules acceptance.Rules, b *board, j judges) *Admitter {
	a := &Admitter{
		graph: o.Graph, rules: rules, board: b, judges: j, schema: o.Schema, controller: o.Controller, metrics: o.Metrics, now: o.Now,
		refresh: o.Refresh, turns: make(chan struct{}, max(2, runtime.GOMAXPROCS(0))),
	}
	if a.schema == nil {
		a.schema = schema.New(schema.Options{})
	}
	return a
}

// Admit judges a proposal.
func (a *Admitter) Admit(ctx context.Context, p admin.Proposal) (admin.Admission, error) {
	began := a.now()
	at := a.board.current.Load()
	out, err := admin.Admission{}, error(nil)
	if !at.decided {
		err = &admin.NoVerdictError{Why: "no configuration was accepted yet; ask again when /readyz answers ok", RetryAfter: time.Second}
	} else {
		out, err = a.shared.ask(ctx, question{at, digest(p)}, func() (admin.Admission, error) { return a.judge(ctx, at, p) })
	}
	countAdmission(a.metrics, out, err, a.now().Sub(began))
	return out, err
}

// judge goes from what costs least to a trial. It is asked anew where that may help: a
// revision that nobody has decided about yet, or a missing object.
func (a *Admitter) judge(ctx context.Context, at *published, p admin.Proposal) (admin.Admission, error) {
	waiting, cancel := awaiting(ctx)
	defer cancel()
	var found []store.Edit
	trials := 0
	for {
		d := a.draftOf(at, p)
		if d.refused() || len(d.edits) == 0 {
			return d.untried(), nil
		}
		if wait, namespace := a.overBudget(d); wait > 0 {
			return d.throttled(namespace, wait), nil
		}
		result, err := a.try(ctx, d, found)
		if err != nil {
			return admin.Admission{}, err
		}
		a.budget.spend(d.namespaces()[0], result.Trials-1, d.now)
		trials += result.Trials
		if result.Unready {
			if next, again := a.board.after(waiting, at); again {
				at = next
				continue
			}
		}
		if more := a.fetch(ctx, d, result, found); len(more) > len(found) {
			found = more
			continue
		}
		return a.answer(d, result, trials), nil
	}
}

// try evaluates a draft, as soon as few enough others do.
func (a *Admitter) try(ctx context.Context, d *draft, found []store.Edit) (acceptance.Admission, error) {
	if err := a.begin(ctx); err != nil {
		return acceptance.Admission{}, err
	}
	defer func() { <-a.turns }()
	for _, namespace := range d.namespaces() {
		a.budget.spend(namespace, 1, d.now)
	}
	rules := a.rules
	rules.Testify = nil
	if d.at.check != nil {
		rules.Check = d.at.check
	}
	rules.Validate = func(t acceptance.Trial) acceptance.Answer { return a.judges.ask(ctx, t, func() {}) }
	result := rules.Admit(acceptance.Input{
		Observed: d.at.observed.Apply(found...), Accepted: d.at.state, Standing: d.at.rejected, Expired: d.at.expired,
		Ended: func() bool { return ctx.Err() != nil },
	}, d.edits...)
	if ctx.Err() != nil && result.Unavailable != "" {
		return result, outOfTime()
	}
	return result, nil
}

// manyWaiting is how many requests may wait for their turn.
const manyWaiting = 256

// begin takes a turn.
func (a *Admitter) begin(ctx context.Context) error {
	if a.waiting.Add(1) > manyWaiting {
		a.waiting.Add(-1)
		return &admin.NoVerdictError{Why: "too many proposals at once; ask again", RetryAfter: time.Second}
	}
	defer a.waiting.Add(-1)
	select {
	case a.turns <- struct{}{}:
		return nil
	case <-ctx.Done():
		return outOfTime()
	}
}

func outOfTime() error {
	return &admin.NoVerdictError{Why: "the time for it is over; ask again, or allow more by ?timeout=30s", RetryAfter: time.Second}
}

// overBudget returns how long a namespace that has spent its trials has to wait.
func (a *Admitter) overBudget(d *draft) (time.Duration, string) {
	for _, namespace := range d.namespaces() {
		if wait := a.budget.allows(namespace, d.now); wait > 0 {
			return wait, namespace
		}
	}
	return 0, ""
}

// longestAwait is how long a verdict waits for the round over what was just observed.
const longestAwait = 2 * time.Second

// awaiting bounds how long that is: half of the time that is left, at most.
func awaiting(ctx context.Context) (context.Context, context.CancelFunc) {
	wait := longestAwait
	if end, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(end)/2)
	}
	return context.WithTimeout(ctx, wait)
}

// fetch looks for objects that a refused proposal lacks where they are kept, and returns
// all that were found.
func (a *Admitter) fetch(ctx context.Context, d *draft, result acceptance.Admission, found []store.Edit) []store.Edit {
	if a.refresh == nil || result.Admitted() {
		return found
	}
	view := d.at.observed.Apply(found...).Apply(d.edits...)
	var missing []store.Key
	lacks := func(keys ...store.Key) {
		for _, key := range keys {
			if _, there := view.Get(key); !there {
				missing = append(missing, key)
			}
		}
	}
	for _, r := range result.Refused {
		for _, step := range r.Steps {
			lacks(step.Related...)
		}
	}
	if len(missing) == 0 {
		return found
	}
	return append(found, a.refresh(ctx, missing)...)
}
