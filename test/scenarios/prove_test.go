package scenarios

import (
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/validator/prover"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
	"github.com/gatehouse-proxy/gatehouse/test/proving"
)

// proof asks a proving Envoy about one configuration after the other.
type proof struct {
	*proving.Prover
	accepted []xdsserve.Resource
}

func newProof(t *testing.T) *proof {
	t.Helper()
	p := &proof{Prover: proving.New(t, prover.Options{})}
	p.Begin()
	return p
}

// check fails the test unless the proving Envoy accepts a configuration: "for every
// scenario its verdict equals that of a complete binding Envoy", which accepts it.
func (p *proof) check(t *testing.T, resources []xdsserve.Resource) {
	t.Helper()
	v := p.Try(t, proving.Change(p.accepted, resources))
	if v.Unavailable != "" {
		t.Errorf("the proving Envoy is unavailable: %s", v.Unavailable)
		return
	}
	for _, r := range v.Refusals {
		t.Errorf("the proving Envoy refuses %v: %s", r.Resources, r.Message)
	}
	if len(v.Refusals) == 0 {
		p.accepted = resources
	}
}
