package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	discovery_v1 "k8s.io/api/discovery/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/validator"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// scripted is a validator of everything but endpoints that does what the test says.
// Real ones are below internal/validator.
type scripted struct {
	mu     sync.Mutex
	takes  time.Duration // of the bubble
	down   string
	judges func(c validator.Candidate) []validator.Refusal
	asked  atomic.Int32
}

// is sets what it takes and why it is down.
func (s *scripted) is(takes time.Duration, down string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takes, s.down = takes, down
}

func (s *scripted) Name() string                { return "scripted" }
func (s *scripted) Judges(t xdsserve.Type) bool { return t != xdsserve.Endpoints }

func (s *scripted) Validate(ctx context.Context, c validator.Candidate) validator.Verdict {
	s.asked.Add(1)
	s.mu.Lock()
	takes, down := s.takes, s.down
	s.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return validator.Verdict{Unavailable: ctx.Err().Error()}
	}
	if down != "" || s.judges == nil {
		return validator.Verdict{Unavailable: down}
	}
	return validator.Verdict{Refusals: s.judges(c)}
}

// mentions reports whether a candidate has something made from an object.
func mentions(c validator.Candidate, object string) bool {
	for r := range c.All {
		if slices.Contains(r.Origins, object) {
			return true
		}
	}
	return false
}

// refusing refuses candidates with something made from an object, and names nothing.
func refusing(object string) func(validator.Candidate) []validator.Refusal {
	return func(c validator.Candidate) []validator.Refusal {
		if mentions(c, object) {
			return []validator.Refusal{{Message: "I do not like it"}}
		}
		return nil
	}
}

func endpointsOf(service, address string) *discovery_v1.EndpointSlice {
	s := &discovery_v1.EndpointSlice{
		ObjectMeta: named(service + "-1"), AddressType: discovery_v1.AddressTypeIPv4,
		Endpoints: []discovery_v1.Endpoint{{Addresses: []string{address}}},
		Ports:     []discovery_v1.EndpointPort{{Port: new(int32(8080))}},
	}
	s.Labels = map[string]string{discovery_v1.LabelServiceName: service}
	return s
}

// serves reports whether some published resource of a type has these bytes.
func (p *proxies) serves(t xdsserve.Type, text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, r := range p.published {
		if name.Type == t && strings.Contains(string(r.Body), text) {
			return true
		}
	}
	return false
}

// send hands over a batch and waits only until nothing is left to do at this moment.
func (w world) send(edits ...store.Edit) {
	w.Helper()
	w.loop.Observe(w.Context(), snapshot.Batch{Files: 1, Edits: edits, ObservedAt: time.Now()})
	time.Sleep(60 * time.Millisecond) // of the bubble: the quiet period is over
	synctest.Wait()
}

// Endpoints never wait for a search, nor for a validator that takes its time.
func TestEndpointsAreServedWhileAValidatorSleeps(t *testing.T) {
	v := &scripted{}
	inJudgedWorld(t, []Judged{{Validator: v, Required: true}}, func(w world) {
		w.connect(edgeGroup)
		v.is(5*time.Second, "")
		w.send(edit("HTTPRoute", route("more", "cart")))

		w.send(edit("EndpointSlice", endpointsOf("cart", "10.0.0.7")))

		if !w.proxies.serves(xdsserve.Endpoints, "10.0.0.7") {
			w.Error("the endpoint waits for the validator")
		}
		if got := w.why("HTTPRoute", "shop/more"); got.State != verdict.Pending || got.Steps[1].Reason != verdict.Undecided.Name {
			w.Errorf("meanwhile the route is %s, %+v", got.State, got.Steps)
		}
		asked := v.asked.Load()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if got := w.why("HTTPRoute", "shop/more").Steps[1].Reason; got != verdict.Accepted.Name {
			w.Errorf("after the verdict: %s", got)
		}
		if v.asked.Load() != asked {
			w.Error("the validator was asked again about what it had accepted, because an endpoint changed")
		}
	})
}

// The endpoint of a batch that also has a route does not wait either.
func TestEndpointsAreServedApartFromTheirBatch(t *testing.T) {
	v := &scripted{}
	inJudgedWorld(t, []Judged{{Validator: v}}, func(w world) {
		w.connect(edgeGroup)
		v.is(5*time.Second, "")

		w.send(edit("HTTPRoute", route("more", "cart")), edit("EndpointSlice", endpointsOf("cart", "10.0.0.7")))

		if !w.proxies.serves(xdsserve.Endpoints, "10.0.0.7") {
			w.Error("the endpoint waits for the route")
		}
		time.Sleep(5 * time.Second)
	})
}

// A change that arrives while a search goes on is tried at once on what is accepted.
func TestChangesAreTriedBesideASearch(t *testing.T) {
	v := &scripted{judges: refusing("HTTPRoute shop/bad")}
	inJudgedWorld(t, []Judged{{Validator: v}}, func(w world) {
		w.connect(edgeGroup)
		v.is(time.Second, "")
		edits := []store.Edit{edit("HTTPRoute", route("bad", "cart"))}
		for i := range 6 {
			edits = append(edits, edit("HTTPRoute", route(fmt.Sprint("good", i), "cart")))
		}
		w.send(edits...)
		w.send(edit("HTTPRoute", route("late", "cart")))

		accepted := func(name string) bool {
			return w.why("HTTPRoute", "shop/"+name).Steps[1].Reason == verdict.Accepted.Name
		}
		for i := 0; i < 4 && !accepted("late"); i++ {
			time.Sleep(time.Second)
			synctest.Wait()
		}
		if !accepted("late") || accepted("good0") && accepted("good5") {
			w.Error("the later route waits for the search")
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		for i := range 6 {
			if !accepted(fmt.Sprint("good", i)) {
				w.Errorf("good%d is not accepted", i)
			}
		}
		if got := w.why("HTTPRoute", "shop/bad"); got.State != verdict.Rejected || !strings.Contains(got.Steps[1].Message, "scripted: I do not like it") {
			w.Errorf("the bad one: %s %+v", got.State, got.Steps)
		}
	})
}

// However fast things change, a search comes to its end.
func TestASearchFinishesUnderConstantChange(t *testing.T) {
	v := &scripted{judges: refusing("HTTPRoute shop/bad")}
	inJudgedWorld(t, []Judged{{Validator: v}}, func(w world) {
		w.connect(edgeGroup)
		v.is(200*time.Millisecond, "")
		w.send(edit("HTTPRoute", route("bad", "cart")), edit("HTTPRoute", route("good", "cart")))
		for i := range 100 {
			w.send(edit("HTTPRoute", route(fmt.Sprint("other", i%10), "cart")), edit("EndpointSlice", endpointsOf("cart", fmt.Sprintf("10.0.1.%d", i))))
		}

		if got := w.why("HTTPRoute", "shop/good").Steps[1].Reason; got != verdict.Accepted.Name {
			w.Errorf("after 6 s of changes the good route is %s", got)
		}
		if got := w.why("HTTPRoute", "shop/bad").State; got != verdict.Rejected {
			w.Errorf("the bad one is %s", got)
		}
		time.Sleep(10 * time.Second)
	})
}

// Unavailable never counts against an object and never starts a search: what needs
// the verdict waits, or passes without it where the validator is not required.
func TestUnavailableValidator(t *testing.T) {
	for _, required := range []bool{true, false} {
		v := &scripted{}
		inJudgedWorld(t, []Judged{{Validator: v, Required: required}}, func(w world) {
			w.connect(edgeGroup)
			v.is(0, "cannot be reached")
			w.send(edit("HTTPRoute", route("more", "cart")))
			asked := v.asked.Load()
			w.send(edit("EndpointSlice", endpointsOf("cart", "10.0.0.7")))

			got := w.why("HTTPRoute", "shop/more")
			if required && (got.State != verdict.Pending || !strings.Contains(got.Steps[1].Message, "cannot be reached")) {
				w.Errorf("required: %s %+v", got.State, got.Steps)
			}
			if !required && got.Steps[1].Reason != verdict.Accepted.Name {
				w.Errorf("not required: %+v", got.Steps)
			}
			if !w.proxies.serves(xdsserve.Endpoints, "10.0.0.7") {
				w.Error("the endpoint waits")
			}
			if asked != 2 { // the first round, and this one
				w.Errorf("asked %d times, want no search", asked)
			}
			v.is(0, "")
			time.Sleep(lastPatience)
			synctest.Wait()
			if got := w.why("HTTPRoute", "shop/more").Steps[1].Reason; got != verdict.Accepted.Name {
				w.Errorf("required %v, available again: %s", required, got)
			}
		})
	}
}

// An object that is repaired while the search for it goes on is not rejected.
func TestRepairDuringTheSearch(t *testing.T) {
	v := &scripted{judges: func(c validator.Candidate) []validator.Refusal {
		for r := range c.All {
			if strings.Contains(string(r.Body), "/forbidden") {
				return []validator.Refusal{{Resources: []xdsserve.Scoped{{Group: r.Group, Name: r.Name}}, Message: "forbidden"}}
			}
		}
		return nil
	}}
	inJudgedWorld(t, []Judged{{Validator: v}}, func(w world) {
		w.connect(edgeGroup)
		v.is(time.Second, "")
		bad := route("shop", "cart")
		bad.Spec.Rules[0].Matches[0].Path.Value = new("/forbidden")
		w.send(edit("HTTPRoute", bad))
		fixed := route("shop", "cart")
		fixed.Spec.Rules[0].Matches[0].Path.Value = new("/allowed")
		w.send(edit("HTTPRoute", fixed))

		time.Sleep(20 * time.Second)
		synctest.Wait()
		if got := w.why("HTTPRoute", "shop/shop").Steps[1].Reason; got != verdict.Accepted.Name || !w.proxies.serves(xdsserve.Routes, "/allowed") {
			w.Errorf("after the repair: %s", got)
		}
	})
}

// Until the first configuration is accepted nothing is published, no proxy of an
// earlier process is ended, and the instance is not ready.
func TestTheFirstConfigurationWaitsForARequiredValidator(t *testing.T) {
	v := &scripted{down: "cannot be reached"}
	inJudgedWorld(t, []Judged{{Validator: v, Required: true}}, func(w world) {
		if err := w.loop.Reporter().Ready(); err == nil || !strings.Contains(err.Error(), "cannot be reached") {
			w.Errorf("ready: %v", err)
		}
		if w.proxies.ensured || len(w.proxies.published) > 0 {
			w.Error("something is published or run")
		}
		v.is(0, "")
		time.Sleep(lastPatience)
		synctest.Wait()
		w.connect(edgeGroup)
		if err := w.loop.Reporter().Ready(); err != nil {
			w.Errorf("available again: %v", err)
		}
	})
}

// A validator that fails is unavailable, and takes nothing down.
func TestAValidatorThatPanics(t *testing.T) {
	v := &scripted{judges: func(validator.Candidate) []validator.Refusal { panic("no") }}
	inJudgedWorld(t, []Judged{{Validator: v}}, func(w world) {
		w.connect(edgeGroup)
		if got := w.why("HTTPRoute", "shop/shop").State; got != verdict.Serving {
			w.Errorf("the route is %s", got)
		}
	})
}

// What passed while a validator that is not required was unavailable is judged when it
// is back, and what is bad of it is found: innocent changes are not rejected for it.
func TestWhatPassedUnjudgedIsJudgedLater(t *testing.T) {
	v := &scripted{judges: refusing("HTTPRoute shop/bad")}
	inJudgedWorld(t, []Judged{{Validator: v}}, func(w world) {
		w.connect(edgeGroup)
		v.is(0, "cannot be reached")
		w.send(edit("HTTPRoute", route("bad", "cart")))
		if got := w.why("HTTPRoute", "shop/bad").Steps[1].Reason; got != verdict.Accepted.Name {
			w.Errorf("while it is unavailable: %s", got)
		}
		v.is(0, "")
		w.send(edit("HTTPRoute", route("innocent", "cart")))
		time.Sleep(lastPatience)
		synctest.Wait()

		if got := w.why("HTTPRoute", "shop/innocent").Steps[1].Reason; got != verdict.Accepted.Name {
			w.Errorf("the innocent one: %s", got)
		}
		if got := w.why("HTTPRoute", "shop/bad").State; got != verdict.Rejected {
			w.Errorf("the bad one: %s", got)
		}
	})
}

// With nothing to do but to be asked again, a validator that is back is asked.
func TestWhatPassedUnjudgedIsJudgedWithoutAChange(t *testing.T) {
	v := &scripted{judges: refusing("HTTPRoute shop/bad")}
	inJudgedWorld(t, []Judged{{Validator: v}}, func(w world) {
		w.connect(edgeGroup)
		v.is(0, "cannot be reached")
		w.send(edit("HTTPRoute", route("bad", "cart")))
		v.is(0, "")
		time.Sleep(2 * lastPatience)
		synctest.Wait()
		if got := w.why("HTTPRoute", "shop/bad").State; got != verdict.Rejected {
			w.Errorf("the bad one: %s", got)
		}
	})
}
