package prover_test

import (
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/gatehouse-proxy/gatehouse/internal/validator"
	"github.com/gatehouse-proxy/gatehouse/internal/validator/prover"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
	"github.com/gatehouse-proxy/gatehouse/test/proving"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a Prover with a real Envoy, and what tests expect of it.
type rig struct {
	*proving.Prover
	t testing.TB
}

func newRig(t testing.TB, o prover.Options) *rig {
	t.Helper()
	r := &rig{proving.New(t, o), t}
	r.Begin()
	return r
}

func (r *rig) try(u xdsserve.Update) validator.Verdict {
	r.t.Helper()
	return r.Try(r.t, u)
}

func (r *rig) accepts(resources ...xdsserve.Resource) {
	r.t.Helper()
	if v := r.try(xdsserve.Update{Set: resources}); len(v.Refusals) > 0 || v.Unavailable != "" {
		r.t.Fatalf("verdict %+v, want it accepted", v)
	}
}

// refuses returns the refusals of a candidate, which must have some.
func (r *rig) refuses(resources ...xdsserve.Resource) []validator.Refusal {
	r.t.Helper()
	v := r.try(xdsserve.Update{Set: resources})
	if len(v.Refusals) == 0 || v.Unavailable != "" {
		r.t.Fatalf("verdict %+v, want it refused", v)
	}
	return v.Refusals
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func named(i int) string { return fmt.Sprintf("h%05d.example", i) }
