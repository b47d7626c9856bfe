package pipeline

import (
	"strings"
	"testing"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// answer lets the proxy of the edge take what is published, but refuse what it dislikes.
func (w world) answer() {
	w.Helper()
	w.proxies.mu.Lock()
	var refused []scoped
	seq := w.proxies.seq
	for name, r := range w.proxies.published {
		if w.proxies.dislikes != "" && contains(r, w.proxies.dislikes) {
			refused = append(refused, name)
		}
	}
	w.proxies.mu.Unlock()
	for _, name := range refused {
		w.proxies.say(xdsserve.Refused, edgeGroup, func(e *xdsserve.Event) {
			e.Type, e.Names, e.Message = name.Type, []string{name.Name.Name}, "I cannot take it"
		})
	}
	w.proxies.say(xdsserve.Settled, edgeGroup, func(e *xdsserve.Event) { e.Seq = seq })
	w.send()
}

func routeAt(name, path string) *gateway_v1.HTTPRoute {
	r := route(name, "cart")
	r.Spec.Rules[0].Matches[0].Path.Value = new(path)
	return r
}

// What every proxy refuses is taken back: the previous revision is published again,
// the object says why, independent changes stay, and the same is not sent twice.
func TestWhatTheFleetRefusesIsTakenBack(t *testing.T) {
	inWorld(t, func(w world) {
		w.connect(edgeGroup)
		w.send(edit("HTTPRoute", routeAt("shop", "/before")))
		w.answer()
		w.proxies.dislikes = "/poison"

		w.send(edit("HTTPRoute", routeAt("shop", "/poison")), edit("EndpointSlice", endpointsOf("cart", "10.0.0.9")))
		w.answer()

		if w.proxies.serves(xdsserve.Routes, "/poison") || !w.proxies.serves(xdsserve.Routes, "/before") {
			t.Error("the previous revision is not published again")
		}
		if !w.proxies.serves(xdsserve.Endpoints, "10.0.0.9") {
			t.Error("an independent change was taken back, too")
		}
		got := w.why("HTTPRoute", "shop/shop")
		if got.State != verdict.Rejected || got.Steps[1].Reason != verdict.RefusedByProxy.Name || got.Steps[2].Reason != verdict.Retained.Name {
			t.Errorf("why: %s %+v", got.State, got.Steps)
		}
		w.answer()
		seq := w.proxies.seq
		w.send(edit("HTTPRoute", routeAt("shop", "/poison")))
		if w.proxies.serves(xdsserve.Routes, "/poison") || w.proxies.seq != seq {
			t.Error("what was refused is sent again")
		}
		w.send(edit("HTTPRoute", routeAt("shop", "/after")))
		w.answer()
		if got := w.why("HTTPRoute", "shop/shop").State; got != verdict.Serving || !w.proxies.serves(xdsserve.Routes, "/after") {
			t.Errorf("after the repair: %s", got)
		}
	})
}

// Of two changes in what was refused the innocent one is found by the next answers.
func TestTheFleetFindsTheGuiltyOfTwo(t *testing.T) {
	inWorld(t, func(w world) {
		w.connect(edgeGroup)
		w.send(edit("HTTPRoute", routeAt("shop", "/before")))
		w.answer()
		w.proxies.dislikes = "/poison"

		w.send(edit("HTTPRoute", routeAt("a", "/poison")), edit("HTTPRoute", routeAt("b", "/good")))
		for range 4 {
			w.answer()
		}

		if !w.proxies.serves(xdsserve.Routes, "/good") || w.proxies.serves(xdsserve.Routes, "/poison") {
			t.Error("the good one does not serve, or the bad one does")
		}
		if a, b := w.why("HTTPRoute", "shop/a").State, w.why("HTTPRoute", "shop/b").State; a != verdict.Rejected || b != verdict.Serving {
			t.Errorf("a is %s, b is %s", a, b)
		}
	})
}

// The first configuration has nothing before it to go back to.
func TestRefusalWithoutAPrevious(t *testing.T) {
	inWorld(t, func(w world) {
		w.proxies.dislikes = "shop"
		w.proxies.say(xdsserve.Connected, edgeGroup, nil)
		w.answer()
		if w.loop.fleet.rollback || len(w.loop.rejected) > 0 {
			t.Error("something is taken back")
		}
		w.proxies.dislikes = ""
	})
}

func contains(r xdsserve.Resource, text string) bool { return strings.Contains(string(r.Body), text) }
