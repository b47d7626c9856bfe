package compile

import (
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// exclude is the finding of an object without effect, and why.
func exclude(object store.Key, why *problem) Finding {
	return findingOf(object, verdict.Exclude[struct{}](why.step(verdict.WasExcluded)))
}

// fail is the finding of an object whose revision is a candidate for rejection.
func fail(object store.Key, why *problem) Finding {
	f := findingOf(object, verdict.Exclude[struct{}](why.step(verdict.WasRejected)))
	f.Failed = true
	return f
}

// serve is the finding of an object that has an effect.
func serve(object store.Key, steps ...verdict.Step) Finding {
	return findingOf(object, verdict.Contribute(struct{}{}, steps...))
}

// findingOf turns a decision into a finding. The zero Result, which is a decision
// that no one took, gives an exclusion for the reason Unexplained.
func findingOf(object store.Key, result verdict.Result[struct{}]) Finding {
	_, serves := result.Get()
	return Finding{Object: object, Serves: serves, Steps: result.Steps()}
}
