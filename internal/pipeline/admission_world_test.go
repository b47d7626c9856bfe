package pipeline

import (
	"net/netip"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/acceptance"
	"github.com/gatehouse-proxy/gatehouse/internal/compile"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/translate/envoy"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

var (
	loopback       = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	compileOptions = compile.Options{ControllerName: controller, XBackend: true, BindAddress: loopback}
	envoyOptions   = envoy.Options{BindAddress: loopback}
)

func newMetrics() *observe.Metrics { return observe.NewMetrics() }

// refuseWithout is a check that also refuses HTTPRoutes while an object is missing.
func refuseWithout(rules acceptance.Rules, needed store.Key) func(derive.Result) []acceptance.Refusal {
	return func(trial derive.Result) []acceptance.Refusal {
		out := rules.Check(trial)
		_, there := trial.State.View().Get(needed)
		for c := range store.Diff(store.View{}, trial.State.View()) {
			if c.Collection == "HTTPRoute" && c.Name == "shop/more" && !there {
				out = append(out, acceptance.Refusal{Culprits: []store.Key{c.Key}, Step: verdict.OutputInvalid.Step(
					verdict.Accept, verdict.WasRejected, "needs "+needed.Name, needed)})
			}
		}
		return out
	}
}

// apart is a route whose path no other has.
func apart(name, backend string) *gateway_v1.HTTPRoute {
	r := route(name, backend)
	r.Spec.Rules[0].Matches[0].Path.Value = new("/" + name)
	return r
}
