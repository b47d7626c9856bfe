package pipeline

import (
	"slices"

	"github.com/gatehouse-proxy/gatehouse/internal/acceptance"
	"github.com/gatehouse-proxy/gatehouse/internal/compile"
	"github.com/gatehouse-proxy/gatehouse/internal/translate/envoy"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// check is the acceptance check of this product: what compile calls failed, what
// would lose rules that serve, and what translate could not make, each with the objects at
// fault.
func (g *Graph) check(trial derive.Result) []acceptance.Refusal {
	var out []acceptance.Refusal
	for c := range g.Compiled.Findings.Changes(trial.Delta) {
		for _, step := range against(c) {
			out = append(out, acceptance.Refusal{Culprits: []store.Key{c.New.Object}, Step: step})
		}
	}
	for _, collection := range g.Resources() {
		for c := range derive.Changes(trial.Delta, collection.Of) {
			if !c.Has {
				continue
			}
			suspects := func() []store.Key { return trial.State.Origins(collection.node, c.Key) }
			out = append(out, outputRefusals(c.New, suspects)...)
		}
	}
	return out
}

// against are the steps for which a change of a finding is no change for the better.
func against(c derive.Change[compile.Finding]) []verdict.Step {
	switch {
	case c.Has && c.New.Failed:
		return failing(c.New.Steps)
	case fallsBack(c):
		return partlyFailing(c.New)
	}
	return nil
}

func failing(steps []verdict.Step) []verdict.Step {
	refused := slices.DeleteFunc(slices.Clone(steps), func(s verdict.Step) bool { return s.Outcome != verdict.WasRejected })
	if len(refused) == 0 {
		return steps
	}
	return refused
}

func outputRefusals(o envoy.Output, suspects func() []store.Key) []acceptance.Refusal {
	var out []acceptance.Refusal
	for _, f := range o.Failures {
		out = append(out, acceptance.Refusal{Culprits: f.Origins, Suspects: suspects, Step: failureStep(f)})
	}
	return out
}

func failureStep(f envoy.Failure) verdict.Step {
	return verdict.OutputInvalid.Step(verdict.Translate, verdict.WasRejected, f.Message).At(f.Field)
}
