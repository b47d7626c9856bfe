package pipeline

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	client_model "github.com/prometheus/client_model/go"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/source/file"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// second is a route at its second generation.
func second(r snapshot.Object) snapshot.Object {
	r.SetGeneration(2)
	return r
}

// TestInputRejectionsSayWhatServesInstead: what was accepted before serves on, and its
// generation and age are told; of what was never accepted nothing serves.
func TestInputRejectionsSayWhatServesInstead(t *testing.T) {
	inWorld(t, func(w world) {
		began := time.Now().Add(-100 * time.Millisecond)
		w.change(edit("HTTPRoute", second(invalid("shop"))), edit("HTTPRoute", invalid("new")))
		time.Sleep(time.Minute)

		got := w.loop.Reporter().InputRejections()

		field, reason := "spec.rules[0].matches[0].path.value", "UnsupportedValue"
		want := []admin.InputRejection{
			{
				Object:   admin.InputObject{Kind: "HTTPRoute", Namespace: "shop", Name: "new"},
				Observed: admin.ObservedRevision{Generation: 1}, Reason: reason, Field: field, Validator: "checks", Serves: "nothing",
			},
			{
				Object:   admin.InputObject{Kind: "HTTPRoute", Namespace: "shop", Name: "shop"},
				Observed: admin.ObservedRevision{Generation: 2}, Accepted: &admin.AcceptedRevision{Generation: 1, At: began},
				Reason: reason, Field: field, Validator: "checks", RetainedSeconds: 60,
				Serves: "generation 1, accepted " + began.UTC().Format(time.RFC3339),
			},
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(admin.InputRejection{}, "Since", "Message", "Remedy")); diff != "" {
			w.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// TestRefusedDocumentsAreInputRejections: whatever is watched and not accepted
// is listed, whoever rejects it.
func TestRefusedDocumentsAreInputRejections(t *testing.T) {
	inWorld(t, func(w world) {
		bad, copied, broken := refusal("routes.yaml", "1"), refusal("copy.yaml", "2"), refusal("x.yaml", "3")
		bad.Object.Name, copied.Object.Name, broken.Object = "shop/shop", "shop/shop", store.Key{}
		copied.Step.Reason = file.DuplicateObject.Name
		w.observe(snapshot.Batch{Findings: map[string][]snapshot.Finding{"routes.yaml": {bad}, "copy.yaml": {copied}, "x.yaml": {broken}}})
		w.observe(snapshot.Batch{Findings: map[string][]snapshot.Finding{"x.yaml": {broken}}}) // the same again
		time.Sleep(time.Hour)

		type row struct{ where, validator, serves string }
		var got []row
		for _, r := range w.loop.Reporter().InputRejections() {
			serves := r.Serves
			if r.Accepted != nil {
				serves = "generation 1"
			}
			got = append(got, row{r.Where, r.Validator, serves})
			if age := time.Since(r.Since); age < time.Hour {
				w.Errorf("%s rejected for %s only", r.Where, age)
			}
		}

		want := []row{{"x.yaml:3", "schema", "nothing"}, {"copy.yaml:3", "schema", "nothing"}, {"routes.yaml:3", "schema", "generation 1"}}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" {
			w.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// TestRejectionsAreMeasured: the gauges say how many, and for how long at most.
func TestRejectionsAreMeasured(t *testing.T) {
	inWorld(t, func(w world) {
		w.change(edit("HTTPRoute", second(invalid("shop"))))
		time.Sleep(time.Minute)

		rejected, oldest, retained := w.measured()
		if rejected != 1 || oldest < 60 || oldest > 61 || retained != 60 {
			w.Errorf("%v rejected, the oldest for %v s, retained for %v s; want 1 for 60", rejected, oldest, retained)
		}

		w.change(edit("HTTPRoute", second(route("shop", "cart"))))

		if rejected, oldest, retained = w.measured(); rejected+oldest+retained != 0 {
			w.Errorf("repaired, and still %v rejected, the oldest for %v s, retained for %v s", rejected, oldest, retained)
		}
	})
}

// TestTrialsAreMeasuredByOutcome: a bad revision costs a refused trial and one without it.
func TestTrialsAreMeasuredByOutcome(t *testing.T) {
	inWorld(t, func(w world) {
		accepted, refused := w.loop.Metrics.Trials.WithLabelValues("accepted"), w.loop.Metrics.Trials.WithLabelValues("refused")
		before := valueOf(w.T, accepted)

		w.change(edit("HTTPRoute", invalid("shop")))

		if got := valueOf(w.T, accepted) - before; got != 1 || valueOf(w.T, refused) != 1 {
			w.Errorf("%v accepted and %v refused trials, want one each", got, valueOf(w.T, refused))
		}
	})
}

// measured are the gauges of rejections, after they were counted.
func (w world) measured() (rejected, oldest, retained float64) {
	w.Helper()
	m := w.loop.Metrics
	w.loop.Reporter().CountObjects(m)
	return valueOf(w.T, m.RejectedInputs), valueOf(w.T, m.OldestRejection), valueOf(w.T, m.OldestRetained.WithLabelValues("HTTPRoute"))
}

// valueOf is a gauge or a counter now.
func valueOf(t *testing.T, m prometheus.Metric) float64 {
	t.Helper()
	var out client_model.Metric
	if err := m.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.GetGauge().GetValue() + out.GetCounter().GetValue()
}
