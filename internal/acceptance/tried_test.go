package acceptance_test

import (
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/acceptance"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// TestEveryTrialIsTold: of one bad word beside a good one, the first trial is refused,
// the second accepted, and their functions are all that ran.
func TestEveryTrialIsTold(t *testing.T) {
	d := newProduct().rules().Round(acceptance.Input{Observed: store.View{}.Apply(set("a", "bad!"), set("b", "good"))})

	want := []acceptance.Outcome{acceptance.TrialRefused, acceptance.TrialAccepted}
	ran, told := 0, 0
	for _, runs := range d.Work.Functions {
		ran += runs
	}
	for i, tried := range d.Tried {
		told += tried.Functions
		if i < len(want) && tried.Outcome != want[i] {
			t.Errorf("trial %d was %s, want %s", i, tried.Outcome, want[i])
		}
	}
	if len(d.Tried) != len(want) || d.Trials != len(want) || told != ran || told == 0 {
		t.Errorf("%d trials, of which %+v are told, with %d functions of %d", d.Trials, d.Tried, told, ran)
	}
}
