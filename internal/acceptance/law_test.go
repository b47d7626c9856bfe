package acceptance_test

import (
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/internal/acceptance"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// A planted fault is a word that one of two judges refuses. The checker names what
// is at fault, the validator only says that something is:
//
//	bad!       named        bad?      not named
//	needs:X    without X    wants:X   without X
//	pair       with another twin      with another
type planted struct{ *product }

func newPlanted() *planted {
	p := newProduct()
	p.pairs = true
	return &planted{p}
}

func (p *planted) rules() acceptance.Rules {
	r := p.product.rules()
	r.Validate = func(trial acceptance.Trial) acceptance.Answer {
		var out acceptance.Answer
		for _, fault := range p.unnamed(trial.State) {
			out.Refusals = append(out.Refusals, acceptance.Refusal{Step: verdict.OutputInvalid.Step(verdict.Accept, verdict.WasRejected, fault)})
		}
		return out
	}
	r.Reads = func(trial derive.Result) []store.Key {
		var out []store.Key
		for c := range derive.Changes(trial.Delta, p.out) {
			out = append(out, trial.State.Origins("judged", c.Key)...)
		}
		return out
	}
	return r
}

// unnamed is what the validator refuses in a complete state.
func (p *planted) unnamed(state derive.State) []string {
	words := maps.Collect(derive.Items(state, p.out))
	var out []string
	twins := 0
	for _, word := range words {
		wanted, wants := strings.CutPrefix(word, "wants:")
		_, there := words[wanted]
		if strings.HasSuffix(word, "?") || wants && !there {
			out = append(out, word)
		}
		if word == "twin" {
			twins++
		}
	}
	if twins > 1 {
		out = append(out, "twins")
	}
	slices.Sort(out)
	return out
}

// valid judges a view from nothing.
func (p *planted) valid(view store.View) bool {
	result := p.graph.Eval(derive.State{}, view)
	return len(p.product.rules().Check(result)) == 0 && len(p.unnamed(result.State)) == 0
}

var (
	names  = []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	values = []string{"", "x", "y", "z", "bad!", "bad?", "needs:a", "needs:b", "wants:b", "wants:c", "pair", "twin"}
)

func drawBatch(t *rapid.T) []store.Edit {
	var batch []store.Edit
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 6, rapid.ID[string]).Draw(t, "names") {
		if value := rapid.SampledFrom(values).Draw(t, name); value == "" {
			batch = append(batch, set(name, nil))
		} else {
			batch = append(batch, set(name, value))
		}
	}
	return batch
}

// TestLaws: soundness, maximality, isolation, and standing rejections without trials.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPlanted()
		rules := p.rules()
		var in acceptance.Input
		for range rapid.IntRange(1, 6).Draw(t, "rounds") {
			in.Observed = in.Observed.Apply(drawBatch(t)...)
			before := maps.Collect(derive.Items(in.Accepted, p.out))
			in.Reconsider = rapid.Bool().Draw(t, "reconsider")
			d := rules.Round(in)
			if diff := cmp.Diff(before, maps.Collect(derive.Items(in.Accepted, p.out))); diff != "" {
				t.Fatalf("a trial changed what was accepted:\n%s", diff)
			}
			if !p.valid(d.State.View()) {
				t.Fatalf("accepted what is not valid: %v", maps.Collect(derive.Items(d.State, p.out)))
			}
			if d.NoBaseline || len(d.Unresolved) > 0 {
				t.Fatalf("no baseline %v, unresolved %v", d.NoBaseline, d.Unresolved)
			}
			for key, r := range d.Rejected {
				if (in.Reconsider || !r.Loose()) && p.valid(d.State.View().Substitute(in.Observed, key)) {
					t.Fatalf("%s was rejected (%s) and could be added to %v", key, r.Steps[0].Message, maps.Collect(derive.Items(d.State, p.out)))
				}
				if len(r.Steps) == 0 {
					t.Fatalf("%s was rejected for no reason", key)
				}
			}
			complete(t, in.Observed, d)
			in.Accepted, in.Standing, in.Reconsider = d.State, d.Rejected, false
			if again := rules.Round(in); again.Trials != 1 || len(again.Rejected) != len(d.Rejected) {
				t.Fatalf("nothing changed, and it took %d trials and %v became %v", again.Trials, d.Rejected, again.Rejected)
			}
		}
	})
}

// complete: what was accepted is what is observed but for the rejected.
func complete(t *rapid.T, observed store.View, d acceptance.Decision) {
	for c := range store.Diff(d.State.View(), observed) {
		if _, rejected := d.Rejected[c.Key]; !rejected {
			t.Fatalf("%s is neither accepted nor rejected", c.Key)
		}
	}
	for key := range d.Rejected {
		value, _ := observed.Get(key)
		accepted, _ := d.State.View().Get(key)
		if store.Identical(value, accepted) {
			t.Fatalf("%s is both accepted and rejected", key)
		}
	}
}

// TestIndependence: a word that depends on nothing is accepted in the round that
// sees it, whatever comes with it; and a repair releases.
func TestIndependence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPlanted()
		rules := p.rules()
		var in acceptance.Input
		for k := range rapid.IntRange(1, 4).Draw(t, "rounds") {
			innocent := "x" + strconv.Itoa(k)
			in.Observed = in.Observed.Apply(append(drawBatch(t), set("innocent", innocent))...)
			d := rules.Round(in)
			if got, _ := derive.Lookup(d.State, p.out, "innocent"); got != innocent {
				t.Fatalf("the innocent one is %q, want %q", got, innocent)
			}
			in.Accepted, in.Standing = d.State, d.Rejected
		}
		var repair []store.Edit
		for _, name := range names {
			repair = append(repair, set(name, "mended"))
		}
		in.Observed = in.Observed.Apply(repair...)
		if d := rules.Round(in); len(d.Rejected) > 0 {
			t.Fatalf("all is mended, and %v is rejected", d.Rejected)
		}
	})
}

// TestOrderOfCapture: in which order changes were captured decides nothing.
func TestOrderOfCapture(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPlanted()
		batch := drawBatch(t)
		shuffled := rapid.Permutation(batch).Draw(t, "order")
		one := p.rules().Round(acceptance.Input{Observed: store.View{}.Apply(batch...)})
		var view store.View
		for _, e := range shuffled {
			view = view.Apply(e)
		}
		other := p.rules().Round(acceptance.Input{Observed: view})
		if diff := cmp.Diff(maps.Collect(derive.Items(one.State, p.out)), maps.Collect(derive.Items(other.State, p.out))); diff != "" {
			t.Fatalf("another order, another result:\n%s", diff)
		}
		if one.Trials != other.Trials {
			t.Fatalf("another order, %d trials instead of %d", other.Trials, one.Trials)
		}
	})
}

// TestCostOfASearch: r independent bad words among n take at most 2r(log2 n + 1) + 2
// trials where nothing names them, and r + 2 where refusals do.
func TestCostOfASearch(t *testing.T) {
	for _, n := range []int{1, 2, 7, 64, 300, 1000} {
		for _, bad := range []int{1, 2, 3, 8} {
			if bad > n {
				continue
			}
			for fault, most := range map[string]int{"bad?": 2*bad*(bits.Len(uint(n-1))+1) + 2, "bad!": bad + 2} {
				p := newPlanted()
				d := p.rules().Round(acceptance.Input{Observed: plantedAmong(n, bad, fault)})
				if d.Trials > most || len(d.Rejected) != bad {
					t.Errorf("%d %q among %d: %d trials and %d rejected, want at most %d trials", bad, fault, n, d.Trials, len(d.Rejected), most)
				}
			}
		}
	}
}

// TestCostAmongSuspects: where a refusal names all that a bad output was made from, the
// bad ones are found by halving these, and what has no part in it advances at once.
func TestCostAmongSuspects(t *testing.T) {
	for _, bad := range []int{1, 2, 3} {
		const n = 64
		p := newPlanted()
		rules := p.rules()
		validate := rules.Validate
		rules.Validate = func(trial acceptance.Trial) acceptance.Answer {
			a := validate(trial)
			for i := range a.Refusals {
				a.Refusals[i].Suspects = func() []store.Key {
					var all []store.Key
					for key := range derive.Items(trial.State, p.out) {
						if key != "innocent" {
							all = append(all, word(key))
						}
					}
					return all
				}
			}
			return a
		}
		most := 2*bad*(bits.Len(uint(n-1))+1) + 2 + bad + 1
		d := rules.Round(acceptance.Input{Observed: plantedAmong(n, bad, "bad?").Apply(set("innocent", "x"))})
		if d.Trials > most || len(d.Rejected) != bad {
			t.Errorf("%d bad among %d: %d trials and %d rejected, want at most %d trials", bad, n, d.Trials, len(d.Rejected), most)
		}
	}
}

// plantedAmong spreads bad words among n.
func plantedAmong(n, bad int, fault string) store.View {
	var edits []store.Edit
	for i := range n {
		value := "good"
		if i%(n/bad) == 0 && i/(n/bad) < bad {
			value = fault
		}
		edits = append(edits, set(strconv.Itoa(100_000+i), value))
	}
	return store.View{}.Apply(edits...)
}

// TestStandingRejectionsAreFree: with 200 of them a good change costs what it
// costs with none.
func TestStandingRejectionsAreFree(t *testing.T) {
	cost := func(standing int, fault string) (trials, functions int) {
		p := newPlanted()
		rules := p.rules()
		edits := []store.Edit{set("good", "x")}
		for i := range standing {
			edits = append(edits, set(strconv.Itoa(i), fault))
		}
		in := acceptance.Input{Observed: store.View{}.Apply(edits...)}
		d := rules.Round(in)
		if len(d.Rejected) != standing {
			t.Fatalf("%d are rejected, want %d", len(d.Rejected), standing)
		}
		in = acceptance.Input{Observed: in.Observed.Apply(set("good", "y")), Accepted: d.State, Standing: d.Rejected}
		d = rules.Round(in)
		return d.Trials, d.Work.Functions["judged"]
	}
	for _, fault := range []string{"bad!", "bad?"} {
		trials, functions := cost(200, fault)
		if wantTrials, wantFunctions := cost(0, fault); trials != wantTrials || functions != wantFunctions || trials != 1 {
			t.Errorf("%s: %d trials and %d functions with 200 standing, %d and %d with none", fault, trials, functions, wantTrials, wantFunctions)
		}
	}
}
