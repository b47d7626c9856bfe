package acceptance_test

import (
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/internal/acceptance"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// admit asks about a proposal where a session stands.
func (s *session) admit(edits ...store.Edit) acceptance.Admission {
	return s.rules().Admit(s.in, edits...)
}

// The proposed object must pass complete validation.
func TestProposalIsValidated(t *testing.T) {
	s := newSession()
	s.round(set("a", "one"))

	if !s.admit(set("b", "two")).Admitted() {
		t.Error("a good proposal is not admitted")
	}
	if got := s.admit(set("b", "bad!")); got.Admitted() || got.Refused[0].Steps[0].Message != "bad!" {
		t.Errorf("a bad proposal: %+v", got.Refused)
	}
}

// An unrelated request can succeed while another object is rejected.
func TestUnrelatedProposalBesideARejection(t *testing.T) {
	s := newSession()
	s.round(set("a", "bad!"))

	if got := s.admit(set("b", "two")); !got.Admitted() || got.Trials != 1 {
		t.Errorf("refused %+v after %d trials", got.Refused, got.Trials)
	}
}

// Matching errors and unchanged invalid output authorise nothing.
func TestAnErrorThatIsThereAlreadyAdmitsNothing(t *testing.T) {
	s := newSession()
	s.round(set("a", "bad!"))

	if s.admit(set("b", "bad!")).Admitted() {
		t.Error("the same error in another object is admitted")
	}
	if got := s.admit(set("a", "bad!")); got.Admitted() || got.Refused[0].Object != word("a") {
		t.Error("the revision that is rejected is admitted")
	}
}

// Every other observed change is kept: valid updates that no round has seen yet.
func TestProposalMayNeedWhatWasJustObserved(t *testing.T) {
	s := newSession()
	s.round(set("a", "one"), set("c", "bad!"))
	s.in.Observed = s.in.Observed.Apply(set("b", "here"))

	if got := s.admit(set("d", "needs:b")); !got.Admitted() {
		t.Errorf("refused %+v", got.Refused)
	}
}

// Repaired revisions of rejected objects are kept, too.
func TestProposalMayNeedARepair(t *testing.T) {
	s := newSession()
	s.round(set("b", "bad!"))
	s.in.Observed = s.in.Observed.Apply(set("b", "mended"))

	if got := s.admit(set("d", "needs:b")); !got.Admitted() {
		t.Errorf("refused %+v", got.Refused)
	}
}

// A conflict with a newly observed valid object remains rejected.
func TestConflictWithWhatWasJustObserved(t *testing.T) {
	s := newSession()
	s.pairs = true
	s.round(set("a", "one"))
	s.in.Observed = s.in.Observed.Apply(set("z", "pair"))

	for _, name := range []string{"b", "zz"} { // older and younger by name
		if got := s.admit(set(name, "pair")); got.Admitted() || got.Unready {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// What is bad by itself and not decided about holds nothing back for longer than that.
func TestUnreadyUntilTheNextRound(t *testing.T) {
	s := newSession()
	s.round(set("a", "one"))
	s.in.Observed = s.in.Observed.Apply(set("z", "bad!"))

	if got := s.admit(set("b", "two")); got.Admitted() || !got.Unready {
		t.Errorf("%+v", got)
	}
	s.round()
	if !s.admit(set("b", "two")).Admitted() {
		t.Error("not admitted after the round")
	}
}

// A pair that is good only together passes together, and one of which a part is
// rejected already passes with the other.
func TestProposalOfAPair(t *testing.T) {
	s := newSession()
	s.round(set("a", "one"), set("r", "needs:q"))

	if got := s.admit(set("b", "needs:c"), set("c", "here")); !got.Admitted() {
		t.Errorf("refused %+v", got.Refused)
	}
	if got := s.admit(set("q", "here")); !got.Admitted() {
		t.Errorf("what mends a rejection: refused %+v", got.Refused)
	}
	if got := s.admit(set("b", "needs:c")); got.Admitted() {
		t.Error("half of a pair is admitted")
	}
	if got := s.admit(set("r", "needs:q"), set("q", "here")); !got.Admitted() {
		t.Errorf("a rejected revision with what mends it: refused %+v", got.Refused)
	}
}

// A deletion that breaks what is accepted is refused; one of what is rejected is not.
func TestProposedDeletion(t *testing.T) {
	s := newSession()
	s.round(set("a", "needs:b"), set("b", "here"), set("c", "bad!"))

	if got := s.admit(set("b", nil)); got.Admitted() || got.Refused[0].Object != word("b") {
		t.Errorf("%+v", got.Refused)
	}
	if !s.admit(set("b", nil), set("a", nil)).Admitted() || !s.admit(set("c", nil)).Admitted() {
		t.Error("a harmless deletion is not admitted")
	}
}

// A search that is out of time ends without an answer.
func TestAdmissionOutOfTime(t *testing.T) {
	s := newSession()
	s.round(set("a", "one"))
	s.in.Ended = func() bool { return true }

	if got := s.admit(set("b", "two")); got.Admitted() || got.Unavailable == "" || got.Trials != 0 {
		t.Errorf("%+v", got)
	}
}

// TestAdmissionLaw: yes means that the next round over that view accepts it; no means
// that over that view plus the proposal, the round rejects the proposal or something it
// conflicts with. And no admission changes what was observed or accepted.
func TestAdmissionLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPlanted()
		rules := p.rules()
		var in acceptance.Input
		for range rapid.IntRange(1, 4).Draw(t, "rounds") {
			in.Observed = in.Observed.Apply(drawBatch(t)...)
			d := rules.Round(in)
			in.Accepted, in.Standing = d.State, d.Rejected
		}
		if rapid.Bool().Draw(t, "undecided") {
			in.Observed = in.Observed.Apply(drawBatch(t)...)
		}
		proposal := drawBatch(t)
		observed, accepted := in.Observed, maps.Collect(derive.Items(in.Accepted, p.out))

		a := rules.Admit(in, proposal...)

		if in.Observed != observed || !maps.Equal(accepted, maps.Collect(derive.Items(in.Accepted, p.out))) {
			t.Fatal("an admission changed something")
		}
		with := in
		with.Observed = in.Observed.Apply(proposal...)
		if a.Admitted() {
			checkYes(t, p, with, proposal, a)
		} else {
			checkNo(t, rules, in, with, a)
		}
	})
}

func checkYes(t *rapid.T, p *planted, in acceptance.Input, proposal []store.Edit, a acceptance.Admission) {
	if !p.valid(a.State.View()) {
		t.Fatalf("admitted in a view that is not valid: %v", maps.Collect(derive.Items(a.State, p.out)))
	}
	for c := range store.Diff(a.State.View(), in.Observed) {
		if was, known := in.Standing[c.Key]; !known || !store.Identical(was.Refused, c.New) {
			t.Fatalf("admitted without %s, which was observed and not rejected", c.Key)
		}
	}
	// the next round, or if that is patient the one after it
	d := p.rules().Round(in)
	for _, e := range proposal {
		if r, rejected := d.Rejected[e.Key]; rejected {
			t.Fatalf("admitted, and the next round rejects %s: %s", e.Key, r.Steps[0].Message)
		}
	}
}

func checkNo(t *rapid.T, rules acceptance.Rules, without, with acceptance.Input, a acceptance.Admission) {
	if len(a.Refused) == 0 || len(a.Refused[0].Steps) == 0 {
		t.Fatalf("not admitted for no reason: %+v", a)
	}
	before, d := rules.Round(without), rules.Round(with)
	worse := slices.ContainsFunc(slices.Collect(maps.Keys(d.Rejected)), func(key store.Key) bool {
		now, _ := with.Observed.Get(key)
		was, _ := without.Observed.Get(key)
		_, already := before.Rejected[key]
		return !already || !store.Identical(now, was) || slices.ContainsFunc(a.Refused, func(r acceptance.Rejection) bool { return r.Object == key })
	})
	if !worse && !a.Unready {
		t.Fatalf("not admitted (%s: %s), and the next round rejects nothing more", a.Refused[0].Object, a.Refused[0].Steps[0].Message)
	}
}

// TestCostOfAdmission: one trial and the same work among many, and beside 200 standing
// rejections.
func TestCostOfAdmission(t *testing.T) {
	cost := func(n, standing int) acceptance.Admission {
		p := newPlanted()
		rules := p.rules()
		var edits []store.Edit
		for i := range n {
			edits = append(edits, set("good"+strconv.Itoa(i), "x"))
		}
		for i := range standing {
			edits = append(edits, set(strconv.Itoa(i), "bad!"))
		}
		in := acceptance.Input{Observed: store.View{}.Apply(edits...)}
		d := rules.Round(in)
		in.Accepted, in.Standing = d.State, d.Rejected
		return rules.Admit(in, set("proposed", "y"))
	}
	want := cost(300, 0)
	for _, got := range []acceptance.Admission{cost(3000, 0), cost(300, 200)} {
		if diff := cmp.Diff(want.Work, got.Work); diff != "" || got.Trials != 1 || !got.Admitted() {
			t.Errorf("%d trials, work (-want +got):\n%s", got.Trials, diff)
		}
	}
}
