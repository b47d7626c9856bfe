package acceptance_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/internal/acceptance"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// What serves of a word that is withheld is in its name here: "close" closes,
// "forced" is never withheld, "narrow" is what the accepted and the observed word,
// "open:" and letters, have in common. The others retain.
func fallback(key store.Key, accepted, observed any) any {
	switch name, _, _ := strings.Cut(key.Name, "-"); name {
	case "close":
		return nil
	case "forced":
		return observed
	case "narrow":
		return narrowed(accepted, observed)
	default:
		return accepted
	}
}

func narrowed(accepted, observed any) any {
	old, had := letters(accepted)
	now, has := letters(observed)
	if !had || !has {
		return nil
	}
	common := strings.Map(func(r rune) rune {
		if strings.ContainsRune(now, r) {
			return r
		}
		return -1
	}, old)
	return "open:" + common
}

func letters(value any) (string, bool) {
	text, _ := value.(string)
	all, ok := strings.CutPrefix(text, "open:")
	return strings.Trim(all, "!?"), ok
}

// falling are the rules of planted faults with fallbacks.
func (p *planted) falling() acceptance.Rules {
	r := p.rules()
	r.Fallback = fallback
	return r
}

var (
	fallingNames  = []string{"a", "b", "close-a", "close-b", "forced-a", "forced-b", "narrow-a", "narrow-b"}
	fallingValues = []string{
		"", "", "x", "y", "bad!", "bad?", "needs:forced-a", "needs:close-a", "wants:forced-b", "wants:a", "pair", "twin",
		"open:xyz", "open:xy", "open:yz", "open:xy!", "open:z?",
	}
)

func drawFalling(t *rapid.T) []store.Edit {
	var batch []store.Edit
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(fallingNames), 1, 6, rapid.ID[string]).Draw(t, "names") {
		if value := rapid.SampledFrom(fallingValues).Draw(t, name); value == "" {
			batch = append(batch, set(name, nil))
		} else {
			batch = append(batch, set(name, value))
		}
	}
	return batch
}

// TestLawsOfFallbacks: what is never retained is not, closed is absent, and
// soundness, maximality, isolation and standing hold all the same.
func TestLawsOfFallbacks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPlanted()
		rules := p.falling()
		var in acceptance.Input
		for range rapid.IntRange(1, 6).Draw(t, "rounds") {
			in.Observed = in.Observed.Apply(drawFalling(t)...)
			in.Reconsider = rapid.Bool().Draw(t, "reconsider")
			in.Expired = drawExpired(t, in.Standing)
			before := maps.Collect(derive.Items(in.Accepted, p.out))
			d := rules.Round(in)
			if diff := cmp.Diff(before, maps.Collect(derive.Items(in.Accepted, p.out))); diff != "" {
				t.Fatalf("a trial changed what was accepted:\n%s", diff)
			}
			p.sound(t, in, d)
			for _, name := range fallingNames {
				fallen(t, word(name), in, d)
			}
			in.Accepted, in.Standing, in.Reconsider = d.State, d.Rejected, false
			if again := rules.Round(in); again.Trials != 1 || len(again.Rejected) != len(d.Rejected) {
				t.Fatalf("nothing changed, and it took %d trials and %v became %v", again.Trials, d.Rejected, again.Rejected)
			}
		}
	})
}

// sound: what was accepted is valid, nothing could be added to it, and everything
// else that is observed is in it.
func (p *planted) sound(t *rapid.T, in acceptance.Input, d acceptance.Decision) {
	if !p.valid(d.State.View()) || d.NoBaseline || len(d.Unresolved) > 0 {
		t.Fatalf("accepted %v, no baseline %v, unresolved %v", maps.Collect(derive.Items(d.State, p.out)), d.NoBaseline, d.Unresolved)
	}
	for key, r := range d.Rejected {
		if (in.Reconsider || !r.Loose()) && p.valid(d.State.View().Substitute(in.Observed, key)) {
			t.Fatalf("%s was rejected (%s) and could be added to %v", key, r.Steps[0].Message, maps.Collect(derive.Items(d.State, p.out)))
		}
	}
	complete(t, in.Observed, d)
}

// fallen: what serves of a word is what is observed, or what may serve instead.
func fallen(t *rapid.T, key store.Key, in acceptance.Input, d acceptance.Decision) {
	accepted, was := in.Accepted.View().Get(key)
	observed, _ := in.Observed.Get(key)
	serves, is := d.State.View().Get(key)
	var instead any
	if accepted != nil && !in.Expired[key] {
		instead = fallback(key, accepted, observed)
	}
	if is && !store.Identical(serves, observed) && !store.Identical(serves, instead) {
		t.Fatalf("%s: accepted %v, observed %v, and %v serves", key, accepted, observed, serves)
	}
	if r, rejected := d.Rejected[key]; rejected {
		if r.Retained != is || r.Closed && is || was && !is && !r.Closed || r.Narrowed && !is {
			t.Fatalf("%s: served %v, serves %v, and the rejection says %+v", key, was, is, r)
		}
	}
}

func drawExpired(t *rapid.T, standing map[store.Key]acceptance.Rejection) map[store.Key]bool {
	out := map[store.Key]bool{}
	for _, name := range fallingNames {
		if r, rejected := standing[word(name)]; rejected && r.Retained && rapid.Bool().Draw(t, "expired "+name) {
			out[word(name)] = true
		}
	}
	return out
}

// TestRepairReleasesWhatClosed: once every fault is mended nothing is rejected, and
// an independent word is never kept out meanwhile.
func TestRepairReleasesWhatClosed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPlanted()
		rules := p.falling()
		var in acceptance.Input
		for range rapid.IntRange(1, 4).Draw(t, "rounds") {
			innocent := rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "innocent")
			in.Observed = in.Observed.Apply(append(drawFalling(t), set("innocent", innocent))...)
			d := rules.Round(in)
			if got, _ := derive.Lookup(d.State, p.out, "innocent"); got != innocent {
				t.Fatalf("the innocent one is %q, want %q", got, innocent)
			}
			in.Accepted, in.Standing = d.State, d.Rejected
		}
		var repair []store.Edit
		for _, name := range fallingNames {
			repair = append(repair, set(name, "mended"))
		}
		in.Observed = in.Observed.Apply(repair...)
		if d := rules.Round(in); len(d.Rejected) > 0 {
			t.Fatalf("all is mended, and %v is rejected", d.Rejected)
		}
	})
}

// falls runs two rounds: what is there at first, and what then changes.
func falls(t *testing.T, p *planted, first, then []store.Edit) (acceptance.Input, acceptance.Decision) {
	t.Helper()
	rules := p.falling()
	in := acceptance.Input{Observed: store.View{}.Apply(first...)}
	d := rules.Round(in)
	if len(d.Rejected) > 0 {
		t.Fatalf("rejected %v at first", d.Rejected)
	}
	in = acceptance.Input{Observed: in.Observed.Apply(then...), Accepted: d.State}
	return in, rules.Round(in)
}

func (p *planted) serves(t *testing.T, d acceptance.Decision, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, maps.Collect(derive.Items(d.State, p.out))); diff != "" {
		t.Errorf("accepted (-want +got):\n%s", diff)
	}
}

func TestClosedIsAbsent(t *testing.T) {
	p := newPlanted()
	_, d := falls(t, p, []store.Edit{set("close-a", "x"), set("b", "x")}, []store.Edit{set("close-a", "bad?"), set("b", "y")})

	p.serves(t, d, map[string]string{"b": "y"})
	if r := d.Rejected[word("close-a")]; !r.Closed || r.Retained {
		t.Errorf("rejection %+v, want closed", r)
	}
}

// What depends on what closed is closed too where it is not valid alone, whether a
// refusal names it or not; what is independent stays.
func TestDependentsOfWhatClosedAreClosed(t *testing.T) {
	for _, dependent := range []string{"needs:close-a", "wants:close-a"} {
		p := newPlanted()
		_, d := falls(t, p,
			[]store.Edit{set("close-a", "x"), set("b", dependent), set("c", "z")},
			[]store.Edit{set("close-a", "bad?"), set("d", "new")})

		p.serves(t, d, map[string]string{"c": "z", "d": "new"})
		if r := d.Rejected[word("b")]; !r.Closed || len(r.Steps) == 0 {
			t.Errorf("%s: rejection %+v, want closed with a reason", dependent, r)
		}
	}
}

// A deletion that is never withheld takes with it what cannot do without, and both
// come back together.
func TestForcedDeletionTakesItsDependents(t *testing.T) {
	for _, dependent := range []string{"needs:forced-a", "wants:forced-a"} {
		p := newPlanted()
		in, d := falls(t, p,
			[]store.Edit{set("forced-a", "x"), set("b", dependent), set("c", "z")},
			[]store.Edit{set("forced-a", nil)})
		p.serves(t, d, map[string]string{"c": "z"})

		in = acceptance.Input{Observed: in.Observed.Apply(set("forced-a", "back")), Accepted: d.State, Standing: d.Rejected}
		d = p.falling().Round(in)

		p.serves(t, d, map[string]string{"forced-a": "back", "b": dependent, "c": "z"})
		if len(d.Rejected) > 0 {
			t.Errorf("%s: rejected %v, want none", dependent, d.Rejected)
		}
	}
}

// An edit that narrows and is at fault otherwise: the earlier revision serves, but
// no wider than what is observed lets it.
func TestNarrowingIsNotWithheld(t *testing.T) {
	p := newPlanted()
	_, d := falls(t, p, []store.Edit{set("narrow-a", "open:xyz")}, []store.Edit{set("narrow-a", "open:xw?")})

	p.serves(t, d, map[string]string{"narrow-a": "open:x"})
	if r := d.Rejected[word("narrow-a")]; !r.Retained || !r.Narrowed {
		t.Errorf("rejection %+v, want retained and narrowed", r)
	}
}

func TestRetainedCopyExpires(t *testing.T) {
	p := newPlanted()
	in, d := falls(t, p, []store.Edit{set("a", "x"), set("b", "wants:a")}, []store.Edit{set("a", "bad?")})
	p.serves(t, d, map[string]string{"a": "x", "b": "wants:a"})

	in = acceptance.Input{Observed: in.Observed, Accepted: d.State, Standing: d.Rejected, Expired: map[store.Key]bool{word("a"): true}}
	d = p.falling().Round(in)

	p.serves(t, d, map[string]string{})
	if !d.Rejected[word("a")].Closed || !d.Rejected[word("b")].Closed {
		t.Errorf("rejected %+v, want both closed", d.Rejected)
	}
}

// What protects others by being there is not absent when it is closed.
func TestClosedInAnotherForm(t *testing.T) {
	p := newPlanted()
	rules := p.falling()
	rules.Close = func(key store.Key, value any) any {
		if key.Name == "b" {
			return "shut"
		}
		return nil
	}
	observed := store.View{}.Apply(set("forced-a", "x"), set("b", "needs:forced-a"), set("c", "x"))
	d := rules.Round(acceptance.Input{Observed: observed})
	in := acceptance.Input{Observed: observed.Apply(set("forced-a", nil)), Accepted: d.State}

	d = rules.Round(in)

	p.serves(t, d, map[string]string{"b": "shut", "c": "x"})
	if r := d.Rejected[word("b")]; !r.Closed || r.Retained {
		t.Errorf("rejection %+v, want closed", r)
	}
	in = acceptance.Input{Observed: in.Observed, Accepted: d.State, Standing: d.Rejected}
	if d = rules.Round(in); d.Trials != 1 || !d.Rejected[word("b")].Closed {
		t.Errorf("%d trials and %+v, want it to stay closed for one", d.Trials, d.Rejected)
	}
}

// TestCostOfClosing: r changes that are never withheld and break one other each take
// r + 4 trials where refusals name these, and 2r(log2 m + 1) + 6 where they do not,
// with m objects that what was refused rests on.
func TestCostOfClosing(t *testing.T) {
	for _, r := range []int{1, 2, 5} {
		for fault, most := range map[string]int{"needs:": r + 4, "wants:": 2*r*(5+1) + 6} {
			p := newPlanted()
			var first, then []store.Edit
			for i := range r {
				base := "forced-" + string(rune('a'+i))
				first = append(first, set(base, "x"), set("on-"+base, fault+base))
				then = append(then, set(base, nil))
			}
			for i := range 100 {
				first = append(first, set("other-"+string(rune('A'+i)), "x"))
			}
			_, d := falls(t, p, first, then)
			if d.Trials > most || len(d.Rejected) != r {
				t.Errorf("%d %s: %d trials and %d rejected, want at most %d trials", r, fault, d.Trials, len(d.Rejected), most)
			}
		}
	}
}

// TestAdvanceLetsNothingFall: without a search each word serves as it did or as it is
// observed, and the whole is valid: what has to fall back waits for a round.
func TestAdvanceLetsNothingFall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPlanted()
		rules := p.falling()
		in := acceptance.Input{Observed: store.View{}.Apply(drawFalling(t)...)}
		d := rules.Round(in)
		in = acceptance.Input{Observed: in.Observed.Apply(drawFalling(t)...), Accepted: d.State, Standing: d.Rejected}

		d = rules.Advance(in)

		if !p.valid(d.State.View()) {
			t.Fatalf("accepted what is not valid: %v", maps.Collect(derive.Items(d.State, p.out)))
		}
		for _, name := range fallingNames {
			before, _ := in.Accepted.View().Get(word(name))
			observed, _ := in.Observed.Get(word(name))
			serves, _ := d.State.View().Get(word(name))
			if !store.Identical(serves, before) && !store.Identical(serves, observed) {
				t.Fatalf("%s: %v served, %v is observed, and %v serves", name, before, observed, serves)
			}
		}
	})
}
