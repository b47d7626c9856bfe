package acceptance_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/internal/acceptance"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// The product under test here knows words: a word with a "!" in it is refused,
// and so is "needs:X" while X is absent.
type product struct {
	graph *derive.Graph
	out   derive.Collection[string]
	// suspects makes refusals tell what they rest on; pairs refuses two words
	// "pair" together.
	suspects, pairs bool
}

func newProduct() *product {
	p := &product{graph: derive.New()}
	in := derive.Input[string](p.graph, "words")
	p.out = derive.Map(p.graph, "judged", in, func(c *derive.Ctx, _ string, word string) (string, bool) {
		needed, needs := strings.CutPrefix(word, "needs:")
		if needs && !derive.Has(c, in, needed) {
			return "!needs " + needed, true
		}
		if wanted, wants := strings.CutPrefix(word, "wants:"); wants {
			derive.Has(c, in, wanted) // the answer is for others to judge
		}
		return word, true
	})
	return p
}

func (p *product) rules() acceptance.Rules {
	testify := func(trial derive.State, key store.Key) any {
		value, _ := derive.Lookup(trial, p.out, key.Name)
		return value
	}
	return acceptance.Rules{Eval: p.graph.Eval, Between: p.graph.Between, Testify: testify, Check: func(trial derive.Result) []acceptance.Refusal {
		out := p.refusePairs(trial)
		for c := range derive.Changes(trial.Delta, p.out) {
			if !c.Has || !strings.Contains(c.New, "!") {
				continue
			}
			step := verdict.OutputInvalid.Step(verdict.Accept, verdict.WasRejected, c.New)
			if needed, ok := strings.CutPrefix(c.New, "!needs "); ok {
				step.Related = []store.Key{word(needed)}
			}
			refusal := acceptance.Refusal{Culprits: []store.Key{word(c.Key)}, Step: step}
			if p.suspects {
				refusal.Suspects = func() []store.Key { return trial.State.Origins("judged", c.Key) }
			}
			out = append(out, refusal)
		}
		return out
	}}
}

func (p *product) refusePairs(trial derive.Result) []acceptance.Refusal {
	var pair []store.Key
	for key, value := range derive.Items(trial.State, p.out) {
		if p.pairs && value == "pair" {
			pair = append(pair, word(key))
		}
	}
	if len(pair) < 2 {
		return nil
	}
	return []acceptance.Refusal{{Culprits: pair, Step: verdict.OutputInvalid.Step(verdict.Accept, verdict.WasRejected, "a pair")}}
}

func word(name string) store.Key { return store.Key{Collection: "words", Name: name} }

func set(name string, value any) store.Edit { return store.Edit{Key: word(name), Value: value} }

// session runs rounds one after the other, as the pipeline does.
type session struct {
	*product
	in   acceptance.Input
	last acceptance.Decision
}

func newSession() *session { return &session{product: newProduct()} }

func (s *session) round(edits ...store.Edit) acceptance.Decision {
	s.in.Observed = s.in.Observed.Apply(edits...)
	s.last = s.rules().Round(s.in)
	s.in.Accepted, s.in.Standing = s.last.State, s.last.Rejected
	return s.last
}

func (s *session) serving() map[string]string {
	out := maps.Collect(derive.Items(s.in.Accepted, s.out))
	return out
}

func TestBadObjectStaysAlone(t *testing.T) {
	s := newSession()
	s.round(set("a", "one"), set("b", "two"))

	s.round(set("a", "uno"), set("b", "bad!"), set("c", "three"))

	if diff := cmp.Diff(map[string]string{"a": "uno", "b": "two", "c": "three"}, s.serving()); diff != "" {
		t.Errorf("serving (-want +got):\n%s", diff)
	}
	if got := s.last.Rejected[word("b")]; !got.Retained || got.Steps[0].Message != "bad!" {
		t.Errorf("rejection = %+v, want retained with the reason", got)
	}
}

func TestNewBadObjectStaysInactive(t *testing.T) {
	s := newSession()

	s.round(set("a", "bad!"), set("b", "good"))

	if diff := cmp.Diff(map[string]string{"b": "good"}, s.serving()); diff != "" {
		t.Errorf("serving (-want +got):\n%s", diff)
	}
	if s.last.Rejected[word("a")].Retained {
		t.Error("an object that was never accepted is said to be retained")
	}
}

func TestRepairReleases(t *testing.T) {
	s := newSession()
	s.round(set("a", "bad!"))

	s.round(set("a", "mended"))

	if len(s.last.Rejected) != 0 || s.serving()["a"] != "mended" {
		t.Errorf("rejected %v, serving %v", s.last.Rejected, s.serving())
	}
}

func TestDeletionReleases(t *testing.T) {
	s := newSession()
	s.round(set("a", "bad!"))

	s.round(set("a", nil))

	if len(s.last.Rejected) != 0 {
		t.Errorf("rejected %v, want none", s.last.Rejected)
	}
}

func TestStandingRejectionCostsNoTrial(t *testing.T) {
	s := newSession()
	s.round(set("a", "bad!"), set("b", "bad!"))

	s.round(set("c", "good"))

	if s.last.Trials != 1 {
		t.Errorf("trials = %d, want 1", s.last.Trials)
	}
}

func TestRetriedWhenWhatItNeedsArrives(t *testing.T) {
	s := newSession()
	s.round(set("a", "needs:b"))
	if len(s.last.Rejected) != 1 {
		t.Fatalf("rejected %v, want a", s.last.Rejected)
	}

	s.round(set("b", "here"))

	if diff := cmp.Diff(map[string]string{"a": "needs:b", "b": "here"}, s.serving()); diff != "" {
		t.Errorf("serving (-want +got):\n%s", diff)
	}
}

// What a value rests on is suspected when nothing named has changed.
func TestSuspectsAreWithheldWhenNoCulpritChanged(t *testing.T) {
	s := newSession()
	s.suspects = true
	s.round(set("a", "needs:b"), set("b", "here"))

	s.round(set("b", nil), set("c", "independent"))

	if diff := cmp.Diff(map[string]string{"a": "needs:b", "b": "here", "c": "independent"}, s.serving()); diff != "" {
		t.Errorf("serving (-want +got):\n%s", diff)
	}
	if got := s.last.Rejected[word("b")]; !got.Retained {
		t.Errorf("rejection = %+v, want the deletion of b refused", got)
	}
}

// Two objects refused together: the older stays, here by name, and mending it
// releases the other.
func TestOfTwoBadTogetherTheOlderStays(t *testing.T) {
	s := newSession()
	s.pairs = true
	s.round(set("a", "pair"), set("b", "pair"))
	if diff := cmp.Diff(map[string]string{"a": "pair"}, s.serving()); diff != "" {
		t.Fatalf("serving (-want +got):\n%s", diff)
	}

	s.round(set("a", "single"))

	if diff := cmp.Diff(map[string]string{"a": "single", "b": "pair"}, s.serving()); diff != "" {
		t.Errorf("serving (-want +got):\n%s", diff)
	}
}

func TestRejectionKeepsItsEvidence(t *testing.T) {
	s := newSession()

	s.round(set("a", "bad!"))

	if got := s.last.Rejected[word("a")].Evidence; got != "bad!" {
		t.Errorf("evidence = %v, want what the trial made of it", got)
	}
}

// What is at fault did not change: the change that made it so is refused.
func TestDeletionThatBreaksAnotherIsRefused(t *testing.T) {
	s := newSession()
	s.round(set("a", "needs:b"), set("b", "here"))

	s.round(set("b", nil), set("c", "new"))

	if diff := cmp.Diff(map[string]string{"a": "needs:b", "b": "here", "c": "new"}, s.serving()); diff != "" {
		t.Errorf("serving (-want +got):\n%s", diff)
	}
	if got := s.last.Rejected[word("b")]; got.Refused != nil || !got.Retained {
		t.Errorf("rejection = %+v, want the deletion refused", got)
	}
}

// Whatever was edited and in whatever batches: what serves of each object is its
// last good revision.
func TestServesTheLastGoodRevision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSession()
		want := map[string]string{}
		names := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		values := rapid.SampledFrom([]string{"x", "y", "z!", "w!", ""})
		for range rapid.IntRange(1, 8).Draw(t, "rounds") {
			var batch []store.Edit
			for range rapid.IntRange(1, 4).Draw(t, "edits") {
				name, value := names.Draw(t, "name"), values.Draw(t, "value")
				if slices.ContainsFunc(batch, func(e store.Edit) bool { return e.Name == name }) {
					continue
				}
				switch {
				case value == "":
					delete(want, name)
					batch = append(batch, set(name, nil))
				case strings.Contains(value, "!"):
					batch = append(batch, set(name, value))
				default:
					want[name] = value
					batch = append(batch, set(name, value))
				}
			}
			s.round(batch...)
			if diff := cmp.Diff(want, s.serving()); diff != "" {
				t.Fatalf("serving (-want +got):\n%s", diff)
			}
		}
	})
}
