package prover

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/validator"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// judge tries a step. If it is not accepted, what was there before is published again.
func (p *Prover) judge(ctx context.Context, s step) validator.Verdict {
	switch {
	case len(s.faults) > 0:
		return validator.Verdict{Refusals: s.faults}
	case empty(s.to):
		return validator.Verdict{}
	}
	if why := p.await(ctx); why != "" {
		return validator.Verdict{Unavailable: why}
	}
	began := time.Now()
	if err := p.returned(ctx); err != nil {
		return p.unavailable(ctx, began, err)
	}
	v, err := p.try(ctx, s)
	if errors.Is(err, errDied) {
		v, err = p.again(ctx, s)
	}
	if err != nil {
		v = p.unavailable(ctx, began, err)
	}
	if len(v.Refusals) > 0 || v.Unavailable != "" {
		p.back = p.Target.Publish(s.back)
	}
	return v
}

func empty(u xdsserve.Update) bool { return len(u.Set)+len(u.Remove) == 0 }

// maxVain is after how many that ended before they connected no other is waited for.
const maxVain = 3

// await waits for a proving Envoy to be connected. Only the first trial of those that
// find none waits for long.
func (p *Prover) await(ctx context.Context) string {
	patience := p.Start
	if p.late {
		patience = 0
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := p.watch.until(waiting, func(now condition) (bool, error) {
		if now.vain >= maxVain {
			return false, errDied
		}
		return now.proxy != "" && !now.doubted, nil
	})
	if err != nil && ctx.Err() != nil {
		return "no longer asked: " + ctx.Err().Error()
	}
	if err != nil {
		p.late = true
		return p.Unavailable()
	}
	p.late = false
	return ""
}

// returned waits until the proving Envoy has what was accepted, after a candidate that
// was not. The next one may not meet it on the way: of what is taken back and published
// again nothing would be sent. One that refuses what was accepted starts anew with it.
func (p *Prover) returned(ctx context.Context) error {
	if p.back == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.Patience)
	defer cancel()
	refused, err := p.answer(ctx, p.back)
	if err == nil && len(refused) > 0 {
		p.Log.WarnContext(ctx, "the proving Envoy refuses what it took before, and is started again",
			observe.KeyResource, refused[0].Name.Name, observe.KeyMessage, refused[0].Message)
		p.Process.Restart()
		p.watch.tell(func(c *condition) { c.proxy, c.settled = "", 0 })
		_, err = p.answer(ctx, p.back)
	}
	if err == nil {
		p.back = 0
	}
	return err
}

// try publishes a step and waits for the answer to all of it.
func (p *Prover) try(ctx context.Context, s step) (validator.Verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, p.patience(s.to))
	defer cancel()
	refused, err := p.ask(ctx, s.to)
	return validator.Verdict{Refusals: p.refusals(refused, s)}, err
}

func (p *Prover) patience(u xdsserve.Update) time.Duration {
	return p.Patience + time.Duration(len(u.Set))*p.Each
}

// ask publishes an update, and returns what is refused once all is answered: errDied if
// the proving Envoy ended instead.
func (p *Prover) ask(ctx context.Context, u xdsserve.Update) ([]xdsserve.Refusal, error) {
	before, _ := p.watch.look()
	seq := p.Target.Publish(u)
	return p.answerOf(ctx, seq, before.deaths)
}

// answer is what is refused of what was published, whichever process answers.
func (p *Prover) answer(ctx context.Context, seq uint64) ([]xdsserve.Refusal, error) {
	return p.answerOf(ctx, seq, -1)
}

func (p *Prover) answerOf(ctx context.Context, seq uint64, deaths int) ([]xdsserve.Refusal, error) {
	var refused []xdsserve.Refusal
	err := p.watch.until(ctx, func(now condition) (bool, error) {
		if deaths >= 0 && now.deaths != deaths {
			return false, errDied
		}
		if now.proxy == "" || now.settled < seq {
			return false, nil
		}
		var settled bool
		refused, settled = p.refused(now.proxy, seq)
		return settled, nil
	})
	return refused, err
}

// refused is what a proxy refuses, once it has answered everything up to seq.
func (p *Prover) refused(proxy string, seq uint64) ([]xdsserve.Refusal, bool) {
	for _, belief := range p.Target.Ledger(Group) {
		if belief.Proxy == proxy && belief.Seq >= seq {
			return belief.Refused, true
		}
	}
	return nil, false
}

// refusals are Envoy's words about the resources that were judged. What it refuses and
// the step does not change was accepted once: it has become bad by something else.
func (p *Prover) refusals(refused []xdsserve.Refusal, s step) []validator.Refusal {
	var out []validator.Refusal
	for _, r := range refused {
		of := p.shadow.owners[r.Name]
		if _, changed := s.after[of.of]; !changed {
			p.Log.Warn("the proving Envoy refuses what it took before", observe.KeyType, r.Type, observe.KeyResource, r.Name.Name, observe.KeyMessage, r.Message)
			continue
		}
		if unbound(r) {
			continue
		}
		out = append(out, validator.Refusal{Resources: []xdsserve.Scoped{of.of}, Message: words(of, r)})
	}
	return out
}

// unbound tells that a listener is refused for its address alone, which was the last
// thing to be looked at. UDP listeners are always bound.
func unbound(r xdsserve.Refusal) bool {
	return r.Type == xdsserve.Listener && strings.Contains(r.Message, "cannot bind")
}

// unavailable says why there is no verdict. One that did not answer in time is looked
// at, unless nobody waited for it.
func (p *Prover) unavailable(ctx context.Context, began time.Time, err error) validator.Verdict {
	if ctx.Err() != nil {
		return validator.Verdict{Unavailable: "no longer asked: " + ctx.Err().Error()}
	}
	if errors.Is(err, errDied) {
		return validator.Verdict{Unavailable: "it does not stay up: " + p.lastDeath()}
	}
	p.watch.tell(func(c *condition) { c.doubted = true })
	return validator.Verdict{Unavailable: fmt.Sprintf("it has not answered within %s", time.Since(began).Round(time.Millisecond))}
}

func (p *Prover) lastDeath() string {
	now, _ := p.watch.look()
	if now.why == nil {
		return errDied.Error()
	}
	return now.why.Error()
}

// again repeats a trial that the proving Envoy did not survive, on what it had before
// and portion by portion, so that what it dies of is known. If it does not survive that
// either, it is the candidate's fault.
func (p *Prover) again(ctx context.Context, s step) (validator.Verdict, error) {
	p.Log.WarnContext(ctx, "the proving Envoy ended in a trial, which is repeated", observe.KeyError, p.lastDeath())
	ctx, cancel := context.WithTimeout(ctx, p.Start+2*p.patience(s.to))
	defer cancel()
	if _, err := p.ask(ctx, s.back); err != nil {
		return validator.Verdict{}, err
	}
	var refused []xdsserve.Refusal
	for _, portion := range portions(s.to) {
		var err error
		refused, err = p.ask(ctx, portion)
		if errors.Is(err, errDied) {
			return validator.Verdict{Refusals: []validator.Refusal{p.crash(portion)}}, nil
		}
		if err != nil {
			return validator.Verdict{}, err
		}
	}
	return validator.Verdict{Refusals: p.refusals(refused, s)}, nil
}

// crash refuses what the proving Envoy ended of. It names nothing where that is more
// than one resource.
func (p *Prover) crash(portion xdsserve.Update) validator.Refusal {
	out := validator.Refusal{Reason: verdict.CrashesProxy, Message: "it ended twice while it took this: " + p.lastDeath()}
	if len(portion.Set) == 1 {
		of := p.shadow.owners[portion.Set[0].Name]
		out.Resources = []xdsserve.Scoped{of.of}
		out.Message = of.where() + out.Message
	}
	return out
}
