package acceptance_test

import (
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/internal/acceptance"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// requiring are rules whose validator refuses whatever lacks a word, and "bad?".
func (p *planted) requiring(word string) acceptance.Rules {
	r := p.rules()
	named := r.Validate
	r.Validate = func(trial acceptance.Trial) acceptance.Answer {
		answer := named(trial)
		if _, there := derive.Lookup(trial.State, p.out, word); !there {
			answer.Refusals = append(answer.Refusals, acceptance.Refusal{Step: verdict.OutputInvalid.Step(verdict.Accept, verdict.WasRejected, "no "+word)})
		}
		return answer
	}
	return r
}

// TestStartWithoutValidEmptyView: where nothing is not valid, everything observed
// but one object may be.
func TestStartWithoutValidEmptyView(t *testing.T) {
	p := newPlanted()
	view := store.View{}.Apply(set("root", "x"), set("a", "y"), set("b", "bad?"))

	d := p.requiring("root").Round(acceptance.Input{Observed: view})

	if diff := cmp.Diff(map[string]string{"root": "x", "a": "y"}, maps.Collect(derive.Items(d.State, p.out))); diff != "" {
		t.Errorf("accepted (-want +got):\n%s", diff)
	}
	if r := d.Rejected[word("b")]; len(d.Rejected) != 1 || !strings.Contains(r.Steps[0].Message, "bad?") {
		t.Errorf("rejected %v, want b with its reason", d.Rejected)
	}
}

// TestNoBaseline: an error that remains without any one object is no object's, and
// nothing is accepted.
func TestNoBaseline(t *testing.T) {
	p := newPlanted()

	d := p.requiring("root").Round(acceptance.Input{Observed: store.View{}.Apply(set("a", "x"), set("b", "y"))})

	if !d.NoBaseline || d.State.View().Len("words") != 0 || len(d.Rejected) != 0 {
		t.Errorf("no baseline %v, accepted %v, rejected %v", d.NoBaseline, maps.Collect(derive.Items(d.State, p.out)), d.Rejected)
	}
}

// TestBaselineThatIsNotValidAnyMore: what was accepted is judged anew when nothing
// can be blamed, and only what is at fault is lost.
func TestBaselineThatIsNotValidAnyMore(t *testing.T) {
	p := newPlanted()
	lenient := p.rules()
	lenient.Validate = nil
	observed := store.View{}.Apply(set("a", "x"), set("b", "bad?"))
	before := lenient.Round(acceptance.Input{Observed: observed})
	observed = observed.Apply(set("c", "z"))

	d := p.rules().Round(acceptance.Input{Observed: observed, Accepted: before.State})

	if diff := cmp.Diff(map[string]string{"a": "x", "c": "z"}, maps.Collect(derive.Items(d.State, p.out))); diff != "" {
		t.Errorf("accepted (-want +got):\n%s", diff)
	}
	var changed []string
	for c := range derive.Changes(d.Delta, p.out) {
		changed = append(changed, c.Key)
	}
	if diff := cmp.Diff([]string{"b", "c"}, changed); diff != "" {
		t.Errorf("changes against what was accepted (-want +got):\n%s", diff)
	}
}

// TestUnavailableCountsAgainstNothing: without a verdict nothing advances, nothing
// is rejected, and no search begins.
func TestUnavailableCountsAgainstNothing(t *testing.T) {
	p := newPlanted()
	r := p.rules()
	r.Validate = func(acceptance.Trial) acceptance.Answer { return acceptance.Answer{Unavailable: "it is down"} }

	d := r.Round(acceptance.Input{Observed: store.View{}.Apply(set("a", "x"), set("b", "bad?"))})

	if d.Unavailable != "it is down" || len(d.Rejected) != 0 || d.State.View().Len("words") != 0 || d.Trials != 1 || d.Tried[0].Outcome != acceptance.TrialUnavailable {
		t.Errorf("unavailable %q, rejected %v, accepted %d words in %d trials", d.Unavailable, d.Rejected, d.State.View().Len("words"), d.Trials)
	}
}

// TestAliasesAreOneGroup: both names of an object advance, or neither.
func TestAliasesAreOneGroup(t *testing.T) {
	p := newPlanted()
	r := p.rules()
	r.Identity = func(k store.Key) string { return strings.TrimSuffix(k.Name, "@v2") }
	in := acceptance.Input{Observed: store.View{}.Apply(set("a", "x"), set("a@v2", "x"))}
	d := r.Round(in)

	in = acceptance.Input{Observed: in.Observed.Apply(set("a", "y"), set("a@v2", "bad?"), set("b", "z")), Accepted: d.State}
	d = r.Round(in)

	if diff := cmp.Diff(map[string]string{"a": "x", "a@v2": "x", "b": "z"}, maps.Collect(derive.Items(d.State, p.out))); diff != "" {
		t.Errorf("accepted (-want +got):\n%s", diff)
	}
	if len(d.Rejected) != 2 {
		t.Errorf("rejected %v, want both keys", d.Rejected)
	}
}

// TestDependentsThatStraddleASplit: two objects that need one another advance
// together, although each alone is refused and others are bad.
func TestDependentsThatStraddleASplit(t *testing.T) {
	p := newPlanted()
	view := store.View{}.Apply(
		set("a", "wants:y"), set("b", "bad?"), set("c", "good"), set("y", "wants:a"), set("z", "good"))

	d := p.rules().Round(acceptance.Input{Observed: view})

	want := map[string]string{"a": "wants:y", "c": "good", "y": "wants:a", "z": "good"}
	if diff := cmp.Diff(want, maps.Collect(derive.Items(d.State, p.out))); diff != "" {
		t.Errorf("accepted (-want +got):\n%s", diff)
	}
}

// TestWhatIsNoObjectAlwaysAdvances: it is part of every trial and never rejected.
func TestWhatIsNoObjectAlwaysAdvances(t *testing.T) {
	p := newPlanted()
	r := p.rules()
	r.Identity = func(k store.Key) string {
		if k.Name == "setting" {
			return ""
		}
		return k.Name
	}

	d := r.Round(acceptance.Input{Observed: store.View{}.Apply(set("setting", "s"), set("a", "bad?"))})

	if diff := cmp.Diff(map[string]string{"setting": "s"}, maps.Collect(derive.Items(d.State, p.out))); diff != "" {
		t.Errorf("accepted (-want +got):\n%s", diff)
	}
}

// TestCostWithoutValidEmptyView: where nothing is not valid, one bad word among n is
// found in O(log n) trials if what is required is not beside it, and in at most half
// as many more than n if it is.
func TestCostWithoutValidEmptyView(t *testing.T) {
	const n = 256
	for _, at := range []struct{ bad, root, most int }{
		{bad: 0, root: 200, most: 40}, {bad: 40, root: 200, most: 40}, {bad: 254, root: 3, most: 40}, {bad: 0, root: 1, most: n + n/2 + 20},
	} {
		p := newPlanted()
		root := strconv.Itoa(1000+at.root) + "-root"
		edits := []store.Edit{set(root, "x")}
		for i := range n {
			edits = append(edits, set(strconv.Itoa(1000+i), map[bool]string{true: "bad?", false: "x"}[i == at.bad]))
		}
		d := p.requiring(root).Round(acceptance.Input{Observed: store.View{}.Apply(edits...)})
		if d.NoBaseline || len(d.Rejected) != 1 || d.Trials > at.most {
			t.Errorf("%+v: no baseline %v, %d rejected in %d trials", at, d.NoBaseline, len(d.Rejected), d.Trials)
		}
	}
}
