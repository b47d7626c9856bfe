package pipeline

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/source/file"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

const edgeGroup = "shop/edge"

func TestServesOnceTheProxyHasAnswered(t *testing.T) {
	inWorld(t, func(w world) {
		if got := w.why("HTTPRoute", "shop/shop").State; got != verdict.Pending {
			w.Errorf("before any proxy: %s, want Pending", got)
		}
		if w.screen.ready {
			w.Error("ready before any proxy")
		}

		w.connect(edgeGroup)

		if got := w.why("HTTPRoute", "shop/shop").State; got != verdict.Serving {
			w.Errorf("after the proxy answered: %s, want Serving", got)
		}
		if got := w.programmed(edgeGroup); got != "Programmed" || !w.screen.ready {
			w.Errorf("listener %s, ready %v", got, w.screen.ready)
		}
	})
}

func TestChangeIsToldWhenItIsAcknowledged(t *testing.T) {
	inWorld(t, func(w world) {
		w.connect(edgeGroup)

		w.change(edit("HTTPRoute", route("more", "cart")))
		if got := w.screen.last().Name; got == "shop/more" {
			w.Error("told before the proxy answered")
		}
		w.proxies.say(xdsserve.Settled, edgeGroup, nil)

		got := w.screen.last()
		if got.Name != "shop/more" || got.What != observe.Changed || got.Acked != 1 || got.Total != 1 || got.Took <= 0 {
			w.Errorf("told %+v, want shop/more changed, acknowledged 1/1", got)
		}
	})
}

func TestChangeOfANewGatewayWaitsForItsProxy(t *testing.T) {
	inWorld(t, func(w world) {
		w.connect(edgeGroup)

		w.change(edit("Gateway", edge("new", 9090)))
		w.proxies.say(xdsserve.Settled, edgeGroup, nil)
		if got := w.screen.last().Name; got == "shop/new" {
			w.Error("told by the proxy of another Gateway")
		}
		w.connect("shop/new")

		if got := w.screen.last(); got.Name != "shop/new" || got.Acked != 1 {
			w.Errorf("told %+v, want shop/new acknowledged", got)
		}
	})
}

func TestProgrammedIsUnknownFromTheMomentAListenerChanges(t *testing.T) {
	inWorld(t, func(w world) {
		w.connect(edgeGroup)
		w.proxies.mu.Lock()
		w.proxies.gone = true // so that no probe can succeed
		w.proxies.mu.Unlock()

		w.change(edit("Gateway", edge("edge", 8081)))

		if got := w.programmed(edgeGroup); got != "Pending" {
			w.Errorf("Programmed = %s right after the change, want Pending", got)
		}
	})
}

func TestNothingIsKnownOfAProxyThatLeft(t *testing.T) {
	inWorld(t, func(w world) {
		w.connect(edgeGroup)
		w.proxies.mu.Lock()
		w.proxies.gone = true
		w.proxies.mu.Unlock()

		w.proxies.say(xdsserve.Disconnected, edgeGroup, nil)

		if got := w.programmed(edgeGroup); got != "Pending" {
			w.Errorf("Programmed = %s without a proxy, want Pending", got)
		}
		if w.loop.Reporter().Ready() == nil {
			w.Error("ready without a proxy")
		}
	})
}

func TestPortInUseIsOfferedAgainAndIsNotReady(t *testing.T) {
	inWorld(t, func(w world) {
		w.proxies.refusing = "cannot bind '127.0.0.1:8080': Address already in use"
		w.proxies.say(xdsserve.Connected, edgeGroup, nil)
		w.proxies.say(xdsserve.Refused, edgeGroup, func(e *xdsserve.Event) {
			e.Type, e.Names, e.Message = xdsserve.Listener, []string{"shop/edge/default/8080"}, w.proxies.refusing
		})
		w.proxies.say(xdsserve.Settled, edgeGroup, nil)

		time.Sleep(firstRetry + time.Millisecond)
		synctest.Wait()

		if got := w.proxies.offers(); len(got) != 1 {
			w.Errorf("offered again %v, want the listener once", got)
		}
		if got := w.programmed(edgeGroup); got != "PortUnavailable" {
			w.Errorf("Programmed = %s, want PortUnavailable", got)
		}
		if w.screen.ready {
			w.Error("ready while no listener of the Gateway serves")
		}
	})
}

func TestRejectedRouteKeepsServingAndIsToldOnRepair(t *testing.T) {
	inWorld(t, func(w world) {
		w.connect(edgeGroup)

		w.change(edit("HTTPRoute", invalid("shop")))
		w.proxies.say(xdsserve.Settled, edgeGroup, nil)
		if got := w.screen.last(); got.What != observe.Refused || !strings.Contains(got.Message, "generation 1 keeps serving") {
			w.Errorf("told %+v, want rejected and what keeps serving", got)
		}
		if got := w.why("HTTPRoute", "shop/shop"); got.State != verdict.Rejected || len(got.Resources) == 0 {
			w.Errorf("verdict %s with %d resources, want Rejected and still serving", got.State, len(got.Resources))
		}

		time.Sleep(time.Minute)
		w.change(edit("HTTPRoute", route("shop", "cart")))
		w.proxies.say(xdsserve.Settled, edgeGroup, nil)

		if got := w.screen.last(); got.What != observe.Accepted || !strings.Contains(got.Message, "was rejected for 1m") {
			w.Errorf("told %+v, want accepted after a minute", got)
		}
	})
}

func TestRouteThatAnswersErrorsIsToldAsPartial(t *testing.T) {
	inWorld(t, func(w world) {
		w.connect(edgeGroup)

		w.change(edit("HTTPRoute", route("shop", "missing")))
		w.proxies.say(xdsserve.Settled, edgeGroup, nil)

		if got := w.screen.last(); !strings.Contains(got.Message, "missing does not exist") {
			w.Errorf("told %+v, want that the backend does not exist", got)
		}
	})
}

func TestRemovedGatewayLeavesNothingBehind(t *testing.T) {
	inWorld(t, func(w world) {
		w.connect(edgeGroup)

		w.change(gone("Gateway", edgeGroup))
		w.proxies.say(xdsserve.Disconnected, edgeGroup, nil)
		time.Sleep(time.Minute)
		synctest.Wait()

		if len(w.proxies.running) != 0 || w.proxies.has(edgeGroup, xdsserve.Listener) {
			w.Errorf("running %v, listener published %v", w.proxies.running, w.proxies.has(edgeGroup, xdsserve.Listener))
		}
		if len(w.loop.probing) != 0 || len(w.loop.board.facts) != 0 {
			w.Errorf("probing %v, facts %v; want none", w.loop.probing, w.loop.board.facts)
		}
	})
}

// refusal is a finding about the document of a route in a file.
func refusal(path, content string) snapshot.Finding {
	return snapshot.Finding{
		File: path, Document: 1, Line: 3, Object: store.Key{Collection: "HTTPRoute", Name: "shop/x"},
		Step: verdict.UnsupportedValue.Step(verdict.Accept, verdict.WasRejected, "bad in "+path), Content: content,
	}
}

func TestObjectRefusedInTwoFilesIsRefusedUntilBothAreMended(t *testing.T) {
	inWorld(t, func(w world) {
		w.observe(snapshot.Batch{Findings: map[string][]snapshot.Finding{"a.yaml": {refusal("a.yaml", "1")}, "b.yaml": {refusal("b.yaml", "2")}}})

		w.observe(snapshot.Batch{Findings: map[string][]snapshot.Finding{"a.yaml": nil}})

		v := w.why("HTTPRoute", "shop/x")
		if v.State != verdict.Rejected || v.Steps[1].Message != "bad in b.yaml" {
			w.Errorf("verdict %s %+v, want rejected for b.yaml", v.State, v.Steps)
		}
	})
}

func TestFindingAboutAnotherDocumentOnlyWarns(t *testing.T) {
	inWorld(t, func(w world) {
		w.connect(edgeGroup)
		f := refusal("copy.yaml", "1")
		f.Object.Name = "shop/shop"
		w.observe(snapshot.Batch{
			Origins:  map[store.Key]snapshot.Origin{f.Object: {File: "routes.yaml", Document: 1, Line: 1}},
			Findings: map[string][]snapshot.Finding{"copy.yaml": {f}},
		})

		if got := w.why("HTTPRoute", "shop/shop").State; got != verdict.Serving {
			w.Errorf("state %s, want Serving: its own document is good", got)
		}
	})
}

// The first of two files with one object counts, so it is no previous revision of the
// other that keeps serving.
func TestDuplicateIsToldToHaveNoEffect(t *testing.T) {
	inWorld(t, func(w world) {
		w.connect(edgeGroup)
		f := refusal("routes.yaml", "1")
		f.Object.Name, f.Retained, f.Step.Reason = "shop/shop", true, file.DuplicateObject.Name
		w.observe(snapshot.Batch{Findings: map[string][]snapshot.Finding{"routes.yaml": {f}}})

		if got := w.screen.last(); got.What != observe.Refused || !strings.HasSuffix(got.Message, "; this one has no effect") {
			w.Errorf("told %+v, want that it has no effect", got)
		}
	})
}

func TestUndoneEditIsToldAsReleased(t *testing.T) {
	inWorld(t, func(w world) {
		w.connect(edgeGroup)
		f := refusal("routes.yaml", "1")
		f.Object.Name, f.Retained = "shop/shop", true
		w.observe(snapshot.Batch{Findings: map[string][]snapshot.Finding{"routes.yaml": {f}}})

		w.observe(snapshot.Batch{Findings: map[string][]snapshot.Finding{"routes.yaml": nil}})

		if got := w.screen.last(); got.What != observe.Accepted || got.Name != "shop/shop" {
			w.Errorf("told %+v, want that shop/shop is accepted again", got)
		}
	})
}

func TestSlowClusterIsAWarningUntilItHasHosts(t *testing.T) {
	inWorld(t, func(w world) {
		w.change(edit("XBackend", outside("lost", "lost.example")), edit("HTTPRoute", routeTo("shop", "lost")))
		w.connect(edgeGroup)
		cluster := w.why("XBackend", "shop/lost").Resources[0].Name
		if w.warns("HTTPRoute", "shop/shop") {
			w.Error("warned before the name had its time to resolve")
		}
		time.Sleep(slowFirst)
		synctest.Wait()
		for _, object := range []struct{ kind, name string }{{"HTTPRoute", "shop/shop"}, {"XBackend", "shop/lost"}} {
			if !w.warns(object.kind, object.name) {
				w.Errorf("%s %s has no warning about the name that does not resolve", object.kind, object.name)
			}
		}
		if told := w.loop.Reporter().Overview().Attention; !slices.ContainsFunc(told, func(a admin.Attention) bool {
			return a.Kind == "HTTPRoute" && a.Name == "shop/shop" && a.Label() == "warning"
		}) {
			w.Errorf("the overview is silent about the warning: %+v", told)
		}
		if w.warns("Gateway", edgeGroup) {
			w.Error("the Gateway is warned of a cluster that it does not use")
		}

		w.proxies.resolve(cluster)
		time.Sleep(2 * slowAgain)
		synctest.Wait()

		if w.warns("HTTPRoute", "shop/shop") {
			w.Error("the warning stays after the name resolved")
		}
	})
}
