package acceptance_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/internal/acceptance"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// recalling is the first round of a process after one that had accepted a view.
func recalling(observed, accepted store.View) acceptance.Input {
	return acceptance.Input{Observed: observed, Recalled: func(store.View) (store.View, bool) { return accepted, true }}
}

// TestRestartChangesNothing: "restart changes nothing": whatever was accepted, rejected,
// edited and deleted before the process ended or while it was down, the next process
// decides as the earlier one would have, had it gone on and reconsidered everything.
func TestRestartChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPlanted()
		rules := p.rules()
		var in acceptance.Input
		for range rapid.IntRange(1, 4).Draw(t, "rounds") {
			in.Observed = in.Observed.Apply(drawBatch(t)...)
			d := rules.Round(in)
			in.Accepted, in.Standing = d.State, d.Rejected
		}
		if rapid.Bool().Draw(t, "edited while down") {
			in.Observed = in.Observed.Apply(drawBatch(t)...)
		}

		restarted := rules.Round(recalling(in.Observed, in.Accepted.View()))

		in.Standing = nil
		running := rules.Round(in)
		if diff := cmp.Diff(p.accepted(running.State), p.accepted(restarted.State)); diff != "" {
			t.Fatalf("accepted after a restart (-without one +with one):\n%s", diff)
		}
		for key, r := range running.Rejected {
			other, rejected := restarted.Rejected[key]
			if !rejected || other.Retained != r.Retained || !store.Identical(other.Refused, r.Refused) {
				t.Fatalf("%s: rejected %v, retained %v, want retained %v", key, rejected, other.Retained, r.Retained)
			}
		}
		if len(restarted.Rejected) != len(running.Rejected) {
			t.Fatalf("rejected %v, want %v", restarted.Rejected, running.Rejected)
		}
		if !p.valid(restarted.State.View()) {
			t.Fatalf("accepted what is not valid: %v", p.accepted(restarted.State))
		}
		told := map[string]string{}
		for c := range derive.Changes(restarted.Delta, p.out) {
			told[c.Key] = c.New
		}
		if diff := cmp.Diff(p.accepted(restarted.State), told); diff != "" {
			t.Fatalf("the delta is not everything (-want +got):\n%s", diff)
		}
	})
}

func (p *planted) accepted(s derive.State) map[string]string {
	return maps.Collect(derive.Items(s, p.out))
}

// TestRecalledIsAnInput: "what is read back is an input, never output, and is validated
// like any start-up view": whatever is recalled, only what is valid serves, and what is
// observed, independent and good is accepted.
func TestRecalledIsAnInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPlanted()
		rules := p.rules()
		observed := store.View{}.Apply(append(drawBatch(t), set("innocent", "x"))...)
		recalled := observed.Apply(drawBatch(t)...)

		d := rules.Round(recalling(observed, recalled))

		if !p.valid(d.State.View()) || d.NoBaseline || len(d.Unresolved) > 0 {
			t.Fatalf("accepted %v, no baseline %v, unresolved %v", p.accepted(d.State), d.NoBaseline, d.Unresolved)
		}
		if got, _ := derive.Lookup(d.State, p.out, "innocent"); got != "x" {
			t.Fatalf("the innocent one is %q", got)
		}
		for c := range store.Diff(d.State.View(), observed) {
			r, rejected := d.Rejected[c.Key]
			_, serves := d.State.View().Get(c.Key)
			if !rejected || r.Retained != serves {
				t.Fatalf("%s: rejected %v, retained %v, serves %v", c.Key, rejected, r.Retained, serves)
			}
		}
		next := rules.Round(acceptance.Input{Observed: observed, Accepted: d.State, Standing: d.Rejected})
		if next.Trials != 1 || len(next.Rejected) != len(d.Rejected) {
			t.Fatalf("nothing changed, and it took %d trials and %v became %v", next.Trials, d.Rejected, next.Rejected)
		}
	})
}

// TestRecalledThatFailsIsInactive: "if it fails, the object is inactive and independent
// routes keep updating"; what is recalled of the others serves.
func TestRecalledThatFailsIsInactive(t *testing.T) {
	p := newPlanted()
	observed := store.View{}.Apply(set("a", "bad?"), set("b", "bad?"), set("c", "new"))

	d := p.rules().Round(recalling(observed, observed.Apply(set("a", "old"), set("b", "bad!"))))

	if diff := cmp.Diff(map[string]string{"a": "old", "c": "new"}, p.accepted(d.State)); diff != "" {
		t.Errorf("accepted (-want +got):\n%s", diff)
	}
	if !d.Rejected[word("a")].Retained || d.Rejected[word("b")].Retained {
		t.Errorf("rejected %+v, want a retained and b not", d.Rejected)
	}
}

// TestRecalledOnlyWhenNeeded: where all that is observed is valid, nothing is recalled
// and one trial does; where it is not known yet, nothing is accepted.
func TestRecalledOnlyWhenNeeded(t *testing.T) {
	p := newPlanted()
	in := acceptance.Input{Observed: store.View{}.Apply(set("a", "x")), Recalled: func(store.View) (store.View, bool) {
		t.Error("it was recalled")
		return store.View{}, false
	}}
	if d := p.rules().Round(in); d.Trials != 1 || len(p.accepted(d.State)) != 1 {
		t.Errorf("%d trials, accepted %v", d.Trials, p.accepted(d.State))
	}
	rules := p.product.rules()
	rules.Validate = func(acceptance.Trial) acceptance.Answer { return acceptance.Answer{Unavailable: "it is down"} }
	observed := store.View{}.Apply(set("a", "bad!"))
	if d := rules.Round(recalling(observed, observed.Apply(set("a", "old")))); d.Unavailable == "" || d.State.View().Revision() != 0 {
		t.Errorf("unavailable %q, accepted %v", d.Unavailable, p.accepted(d.State))
	}
}
