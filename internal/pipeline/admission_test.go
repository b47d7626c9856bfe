package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/validator"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// raw is an object as somebody sends it.
func raw(t testing.TB, o snapshot.Object) json.RawMessage {
	t.Helper()
	var fields map[string]any
	encoded, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(encoded, &fields)
	}
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(fmt.Sprintf("%T", o), "*v1.")
	for _, k := range snapshot.Kinds {
		if k.Name == name {
			fields["apiVersion"], fields["kind"] = strings.TrimPrefix(k.Group+"/"+k.Versions[0], "/"), k.Name
		}
	}
	if encoded, err = json.Marshal(fields); err != nil {
		t.Fatal(err)
	}
	return encoded
}

func propose(t testing.TB, objects ...snapshot.Object) admin.Proposal {
	t.Helper()
	var p admin.Proposal
	for _, o := range objects {
		p.Objects = append(p.Objects, raw(t, o))
	}
	return p
}

func deletion(kind, name string) admin.Proposal {
	return admin.Proposal{Deletions: []admin.ObjectName{{Kind: kind, Name: name}}}
}

func (w world) admit(p admin.Proposal) admin.Admission {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 10*time.Second)
	defer cancel()
	out, err := w.loop.Admitter().Admit(ctx, p)
	if err != nil {
		w.Fatal(err)
	}
	return out
}

// lines are what an admission says, findings that fail first.
func lines(a admin.Admission) string {
	var out []string
	for _, f := range a.Findings {
		out = append(out, f.Line())
	}
	return strings.Join(append(out, a.Message), "\n")
}

func TestAdmitsAndRefuses(t *testing.T) {
	inWorld(t, func(w world) {
		if got := w.admit(propose(w, apart("more", "cart"))); !got.Admitted || len(got.Findings) > 0 || got.Trials != 1 || got.Objects[0].Change != admin.ChangeCreate {
			w.Errorf("a good route: %+v", got)
		}
		got := w.admit(propose(w, invalid("bad")))
		if want := `httproute shop/bad spec.rules[0].matches[0].path.value: "/("`; got.Admitted || got.Reason != admin.RefusedInvalid || !strings.HasPrefix(lines(got), want) {
			w.Errorf("an invalid route: %+v", got)
		}
		if v, never := w.loop.Reporter().Verdict("HTTPRoute", "shop/more"); never == nil {
			w.Errorf("a proposal was observed: %+v", v)
		}
	})
}

// Its messages are what why says once it is saved.
func TestAdmissionSaysWhatWhyWouldSay(t *testing.T) {
	inWorld(t, func(w world) {
		refused := w.admit(propose(w, invalid("bad")))
		warned := w.admit(propose(w, apart("lost", "nowhere")))

		w.change(edit("HTTPRoute", invalid("bad")), edit("HTTPRoute", apart("lost", "nowhere")))

		if got := w.why("HTTPRoute", "shop/bad").Steps[1]; got.Message != refused.Findings[0].Step.Message {
			w.Errorf("admission says %q, why %q", refused.Findings[0].Step.Message, got.Message)
		}
		if !warned.Admitted || len(warned.Findings) != 1 || warned.Findings[0].Fails {
			w.Fatalf("a missing backend: %+v", warned)
		}
		said := func(s verdict.Step) bool { return says(s, warned.Findings[0].Step) }
		if steps := w.why("HTTPRoute", "shop/lost").Steps; !anyOf(steps, said) {
			w.Errorf("admission warns %+v, why says %+v", warned.Findings[0].Step, steps)
		}
	})
}

func anyOf(steps []verdict.Step, is func(verdict.Step) bool) bool {
	return slices.ContainsFunc(steps, is)
}

// A document that the schema refuses is refused as it is in a file, transition rules
// included.
func TestProposalsPassTheSchema(t *testing.T) {
	inWorld(t, func(w world) {
		unknown := strings.Replace(string(raw(w, apart("more", "cart"))), `"parentRefs"`, `"parentRef"`, 1)
		got := w.admit(admin.Proposal{Objects: []json.RawMessage{json.RawMessage(unknown)}})
		if got.Admitted || got.Trials != 0 || !strings.Contains(lines(got), `spec.parentRef: unknown field; did you mean "parentRefs"?`) {
			w.Errorf("%+v", got)
		}
		moved := class()
		moved.Spec.ControllerName = "example.com/other"
		if got := w.admit(propose(w, moved)); got.Admitted || !strings.Contains(lines(got), "spec.controllerName") {
			w.Errorf("an immutable field: %+v", got)
		}
	})
}

// While one object is rejected, an unrelated proposal succeeds; the revision that is
// rejected stays refused.
func TestAdmissionBesideARejection(t *testing.T) {
	inWorld(t, func(w world) {
		w.change(edit("HTTPRoute", invalid("bad")))

		if got := w.admit(propose(w, apart("more", "cart"))); !got.Admitted || got.Trials != 1 {
			w.Errorf("unrelated: %+v", got)
		}
		if got := w.admit(propose(w, invalid("bad"))); got.Admitted {
			w.Error("the rejected revision is admitted")
		}
		if got := w.admit(propose(w, apart("bad", "cart"))); !got.Admitted || got.Objects[0].Change != admin.ChangeUpdate {
			w.Errorf("its repair: %+v", got)
		}
		if got := w.admit(deletion("HTTPRoute", "shop/bad")); !got.Admitted || got.Objects[0].Change != admin.ChangeDelete {
			w.Errorf("its deletion: %+v", got)
		}
	})
}

func TestWhatIsSoAlreadyTakesNoTrial(t *testing.T) {
	inWorld(t, func(w world) {
		saved := route("shop", "cart") // as the API server completes it
		if first := w.admit(propose(w, saved)); !first.Admitted {
			w.Fatal(lines(first))
		}
		if got := w.admit(deletion("HTTPRoute", "shop/none")); !got.Admitted || got.Trials != 0 || got.Objects[0].Change != admin.ChangeNone {
			w.Errorf("what is not there: %+v", got)
		}
		d := w.loop.admitter.draftOf(w.loop.board.current.Load(), propose(w, saved))
		w.change(d.edits...)
		if got := w.admit(propose(w, saved)); !got.Admitted || got.Trials != 0 || got.Objects[0].Change != admin.ChangeNone {
			w.Errorf("what is saved already: %+v", got)
		}
	})
}

// Deleting what others need is an outcome, so it is admitted; whom it concerns is said.
func TestAdmissionWarnsOfOthers(t *testing.T) {
	inWorld(t, func(w world) {
		got := w.admit(deletion("Service", "shop/cart"))

		if !got.Admitted || len(got.Findings) == 0 || !got.Findings[0].Other || got.Findings[0].Name != "shop/shop" {
			w.Errorf("%+v", got)
		}
	})
}

// Objects that are good only together pass together.
func TestAdmissionOfASet(t *testing.T) {
	inWorld(t, func(w world) {
		together := w.admit(propose(w, apart("more", "books"), service("books")))
		alone := w.admit(propose(w, apart("more", "books")))

		if !together.Admitted || len(together.Findings) > 0 {
			w.Errorf("together: %+v", together)
		}
		if len(alone.Findings) == 0 {
			w.Error("the route alone is not warned of")
		}
		twice := w.admit(propose(w, apart("more", "cart"), apart("more", "cart")))
		if twice.Admitted || !strings.Contains(lines(twice), "proposed twice") {
			w.Errorf("twice: %+v", twice)
		}
	})
}

// Objects of other controllers are allowed without evaluation, whatever they have in
// them, unless they were ours before.
func TestForeignObjectsAreAllowed(t *testing.T) {
	inWorld(t, func(w world) {
		theirs := class()
		theirs.Name, theirs.Spec.ControllerName = "other", "example.com/other"
		w.change(edit("GatewayClass", theirs), edit("Gateway", func() *gateway_v1.Gateway {
			g := edge("their-edge", 8443)
			g.Spec.GatewayClassName = "other"
			return g
		}()))
		foreign := invalid("theirs")
		foreign.Spec.ParentRefs[0].Name = "their-edge"
		unknown := json.RawMessage(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","namespace":"b"},"spec":{}}`)
		for name, p := range map[string]admin.Proposal{
			"class": propose(w, theirs), "route": propose(w, foreign), "kind": {Objects: []json.RawMessage{unknown}},
			"deletion": deletion("Gateway", "shop/their-edge"),
		} {
			if got := w.admit(p); !got.Admitted || got.Trials != 0 || got.Objects[0].Change != admin.ChangeOther {
				w.Errorf("%s: %+v", name, got)
			}
		}
		left := route("shop", "cart")
		left.Spec.ParentRefs[0].Name = "their-edge"
		if got := w.admit(propose(w, left)); got.Trials != 1 {
			w.Errorf("what was ours before: %+v", got)
		}
		both := invalid("both")
		both.Spec.ParentRefs = append(both.Spec.ParentRefs, gateway_v1.ParentReference{Name: "their-edge"})
		if got := w.admit(propose(w, both)); got.Admitted {
			w.Error("a route of ours and theirs is not judged")
		}
	})
}

// Validators are asked within the time that the request has; without the verdict of one
// that is required nothing is admitted, and without that of another it is, with a warning.
func TestAdmissionAsksValidators(t *testing.T) {
	for _, required := range []bool{true, false} {
		v := &scripted{judges: refusing("HTTPRoute shop/disliked")}
		inJudgedWorld(t, []Judged{{Validator: v, Required: required}}, func(w world) {
			if got := w.admit(propose(w, apart("disliked", "cart"))); got.Admitted || !strings.Contains(lines(got), "scripted: I do not like it") {
				w.Errorf("refused by the validator: %+v", got)
			}
			v.is(0, "cannot be reached")
			got := w.admit(propose(w, apart("more", "cart")))
			switch {
			case required && (got.Admitted || got.Reason != admin.RefusedUnavailable || !strings.Contains(got.Message, "cannot be reached")):
				w.Errorf("required: %+v", got)
			case !required && (!got.Admitted || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "cannot be reached")):
				w.Errorf("not required: %+v", got)
			}
			v.is(time.Hour, "")
			began := time.Now()
			ctx, cancel := context.WithTimeout(w.Context(), time.Second)
			defer cancel()
			_, err := w.loop.Admitter().Admit(ctx, propose(w, apart("slow", "cart")))
			if _, is := errors.AsType[*admin.NoVerdictError](err); required && !is || time.Since(began) > 1100*time.Millisecond {
				w.Errorf("after %s: %v", time.Since(began), err)
			}
			v.is(0, "")
		})
	}
}

// What was just observed and is not decided yet is waited for.
func TestAdmissionAwaitsTheRound(t *testing.T) {
	inWorld(t, func(w world) {
		at := w.loop.board.current.Load()
		w.loop.board.publish(&published{
			observed: at.observed.Apply(edit("HTTPRoute", invalid("bad"))), state: at.state, decided: true, check: at.check,
		})
		var got admin.Admission
		var asking sync.WaitGroup
		asking.Go(func() { got = w.admit(propose(w, apart("more", "cart"))) })
		synctest.Wait()

		w.change(edit("HTTPRoute", invalid("bad")))
		asking.Wait()

		if !got.Admitted || got.Trials < 3 {
			w.Errorf("%+v", got)
		}
	})
}

func TestAdmissionThatIsNotDecidedInTime(t *testing.T) {
	inWorld(t, func(w world) {
		at := w.loop.board.current.Load()
		w.loop.board.publish(&published{
			observed: at.observed.Apply(edit("HTTPRoute", invalid("bad"))), state: at.state, decided: true, check: at.check,
		})
		got := w.admit(propose(w, apart("more", "cart")))

		if got.Admitted || got.Reason != admin.RefusedUnready || got.RetryAfter == 0 {
			w.Errorf("%+v", got)
		}
		w.loop.board.publish(at)
	})
}

// Concurrent identical requests share one evaluation.
func TestConcurrentRequestsShareAnEvaluation(t *testing.T) {
	v := &scripted{}
	inJudgedWorld(t, []Judged{{Validator: v}}, func(w world) {
		v.is(time.Second, "")
		before := v.asked.Load()
		var asking sync.WaitGroup
		for range 20 {
			asking.Go(func() {
				if got := w.admit(propose(w, apart("more", "cart"))); !got.Admitted {
					w.Errorf("%+v", got)
				}
			})
		}
		asking.Wait()
		if asked := v.asked.Load() - before; asked != 1 {
			w.Errorf("the validator was asked %d times", asked)
		}
	})
}

// Reviews go on while the loop changes; its use is under -race.
func TestAdmissionsBesideChanges(t *testing.T) {
	v := &scripted{judges: func(c validator.Candidate) []validator.Refusal {
		for range c.All {
			continue
		}
		return nil
	}}
	inJudgedWorld(t, []Judged{{Validator: v}}, func(w world) {
		w.connect(edgeGroup)
		var asking sync.WaitGroup
		for n := range 4 {
			asking.Go(func() {
				for i := range 25 {
					if got := w.admit(propose(w, apart(fmt.Sprintf("more-%d-%d", n, i), "cart"))); !got.Admitted {
						w.Errorf("%+v", got)
					}
					if got := w.admit(propose(w, invalid("bad"))); got.Admitted {
						w.Error("an invalid route is admitted")
					}
				}
			})
		}
		for i := range 25 {
			w.send(edit("HTTPRoute", apart(fmt.Sprint("other", i), "cart")), edit("HTTPRoute", invalid(fmt.Sprint("bad", i))))
		}
		asking.Wait()
	})
}
