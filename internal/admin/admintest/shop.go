package admintest

import (
	_ "embed" // the objects of the shop
	"encoding/json"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

//go:embed shop.jsonl
var bodies string

// Shop returns an instance that serves a shop, with one object in each state.
func Shop() *Reporter {
	r := &Reporter{All: verdicts(), Page: overview(), Beliefs: beliefs(), Rejected: rejected()}
	for line := range strings.Lines(bodies) {
		r.Bodies = append(r.Bodies, json.RawMessage(line))
	}
	return r
}

func object(group, kind, namespace, name string, generation int64) verdict.Object {
	return verdict.Object{Group: group, Kind: kind, Namespace: namespace, Name: name, Generation: generation}
}

func step(stage verdict.Stage, outcome verdict.Outcome, reason, message string) verdict.Step {
	return verdict.Step{Stage: stage, Outcome: outcome, Reason: reason, Message: message}
}

const gatewayGroup = "gateway.networking.k8s.io"

func verdicts() []verdict.Verdict {
	return []verdict.Verdict{
		{
			Object: object(gatewayGroup, "Gateway", "shop", "edge", 3), State: verdict.Partial,
			Steps: []verdict.Step{
				step(verdict.Watch, verdict.OK, "Seen", "seen in examples/shop/gateway.yaml:1 at revision 118"),
				step(verdict.Accept, verdict.OK, "Accepted", "generation 3 accepted"),
				step(verdict.Compile, verdict.Warning, "PortUnavailable",
					"listener admin: 127.0.0.1:9000 is held by gateway other/edge → it is not bound · give one of the Gateways its own spec.addresses").At("spec.listeners[2].port"),
			},
			Resources: []verdict.Resource{{Type: "Listener", Name: "shop/edge/127.0.0.1/8080"}},
			Proxies:   verdict.Proxies{Acknowledged: 1, Total: 1},
		},
		{
			Object: object(gatewayGroup, "GatewayClass", "", "gatehouse", 1), State: verdict.Serving,
			Steps:   []verdict.Step{step(verdict.Watch, verdict.OK, "Seen", "seen in examples/shop/class.yaml:1 at revision 1")},
			Proxies: verdict.Proxies{},
		},
		checkout(),
		legacy(),
		search(),
		{
			Object: object(gatewayGroup, "HTTPRoute", "team-a", "blog", 1), State: verdict.Pending,
			Steps: []verdict.Step{step(verdict.Publish, verdict.StillPending, "Sent", "sent to 1 proxy 12 ms ago")},
		},
		{
			Object: object(gatewayGroup, "HTTPRoute", "team-b", "blog", 1), State: verdict.Serving,
			Steps: []verdict.Step{step(verdict.Publish, verdict.OK, "Acknowledged", "acknowledged by 1 of 1 proxies")},
		},
		{
			Object: object("", "Secret", "shop", "tls", 1), State: verdict.Serving,
			Steps: []verdict.Step{step(verdict.Watch, verdict.OK, "Seen", "seen in examples/shop/tls.yaml:1 at revision 1")},
		},
	}
}

func checkout() verdict.Verdict {
	return verdict.Verdict{
		Object: object(gatewayGroup, "HTTPRoute", "shop", "checkout", 7), State: verdict.Partial,
		Steps: []verdict.Step{
			step(verdict.Watch, verdict.OK, "Seen", "seen in examples/shop/routes.yaml:3 at revision 118"),
			step(verdict.Accept, verdict.OK, "Accepted", "generation 7 accepted 3m ago (validated by: checks)"),
			step(verdict.Compile, verdict.OK, "Attached", "gateway shop/edge listener http: hostname shop.example matches *.example"),
			{
				Stage: verdict.Compile, Outcome: verdict.Warning, Reason: "RefNotPermitted",
				Message: "backend payments/ledger:8443 has no ReferenceGrant → 12% of requests to rule \"pay\" answer 500 · add a ReferenceGrant in namespace payments from HTTPRoute/shop to Service/ledger",
				Field:   "spec.rules[1].backendRefs[0]",
				Related: []verdict.Ref{store.Key{Collection: "Service", Name: "payments/ledger"}},
			},
			step(verdict.Translate, verdict.OK, "Translated", "1 virtual host, 2 clusters"),
			step(verdict.Publish, verdict.OK, "Acknowledged", "acknowledged by 1 of 1 proxies in 9 ms"),
		},
		Resources: []verdict.Resource{{Type: "Cluster", Name: "shop/cart:80"}, {Type: "RouteConfiguration", Name: "shop/edge/8080"}},
		Proxies:   verdict.Proxies{Acknowledged: 1, Total: 1},
	}
}

func legacy() verdict.Verdict {
	return verdict.Verdict{
		Object: object(gatewayGroup, "HTTPRoute", "shop", "legacy", 1), State: verdict.Excluded,
		Steps: []verdict.Step{
			step(verdict.Watch, verdict.OK, "Seen", "seen in examples/shop/legacy.yaml:1 at revision 90"),
			step(verdict.Compile, verdict.WasExcluded, "NoMatchingListenerHostname",
				"no listener of gateway shop/edge matches hostname legacy.example").At("spec.hostnames[0]"),
		},
	}
}

func search() verdict.Verdict {
	return verdict.Verdict{
		Object: object(gatewayGroup, "HTTPRoute", "shop", "search", 2), State: verdict.Rejected,
		Steps: []verdict.Step{
			step(verdict.Watch, verdict.OK, "Seen", "seen in examples/shop/search.yaml:18 at revision 117"),
			step(verdict.Accept, verdict.WasRejected, "InvalidRegularExpression",
				`"/(" is no regular expression of RE2: missing ); close the group or write \( for the character`).
				At("spec.rules[0].matches[0].path.value"),
		},
	}
}

func rejected() []admin.InputRejection {
	return []admin.InputRejection{
		{
			Object: admin.InputObject{}, Observed: admin.ObservedRevision{Content: "9c1f"}, Since: Since.Add(2 * time.Hour),
			Reason: "NotKubernetesYAML", Message: "found character that cannot start any token", Validator: "schema",
			Where: "examples/shop/x.yaml:1", Serves: "nothing",
		},
		{
			Object:   admin.InputObject{Kind: "HTTPRoute", Namespace: "shop", Name: "search"},
			Observed: admin.ObservedRevision{Generation: 2}, Accepted: &admin.AcceptedRevision{Generation: 1, At: Since},
			Since: Since.Add(time.Hour), Reason: "InvalidRegularExpression", Field: "spec.rules[0].matches[0].path.value",
			Message:   `"/(" is no regular expression of RE2: missing ); close the group or write \( for the character`,
			Validator: "checks", Where: "examples/shop/search.yaml:18", Serves: "generation 1, accepted 2026-11-29T14:00:00Z",
			RetainedSeconds: 3600,
		},
		{
			Object:   admin.InputObject{Kind: "Secret", Namespace: "shop", Name: "tls"},
			Observed: admin.ObservedRevision{Deleted: true}, Accepted: &admin.AcceptedRevision{Generation: 4, At: Since},
			Since: Since.Add(time.Hour), Reason: "RefusedByValidator", Message: "proving envoy: listener https has no certificate",
			Remedy: "Change what the message names.", Validator: "proving envoy", Serves: "generation 4, accepted 2026-11-29T14:00:00Z",
			RetainedSeconds: 3600, More: 1,
		},
	}
}

func overview() admin.Overview {
	return admin.Overview{
		Version: "0.1.0", Envoy: "1.40.0", Since: Since, Revision: 118,
		Objects: map[string]int{"Serving": 28, "Partial": 2, "Excluded": 1, "Rejected": 1, "Pending": 1},
		Gateways: []admin.GatewayOverview{{
			Name: "shop/edge", State: verdict.Partial, Acknowledged: 1, Proxies: 1,
			Listeners: []admin.ListenerOverview{
				{Name: "http", Protocol: "HTTP", Address: "127.0.0.1:8080", AttachedRoutes: 4, Programmed: true},
				{Name: "https", Protocol: "HTTPS", Hostname: "*.example", Address: "127.0.0.1:8443", AttachedRoutes: 4, Programmed: true},
				{
					Name: "admin", Protocol: "TCP", Address: "127.0.0.1:9000", Reason: "PortUnavailable",
					Message: "held by gateway other/edge; give one of them its own spec.addresses",
				},
			},
		}},
		Attention: []admin.Attention{
			{
				Kind: "HTTPRoute", Name: "shop/search", State: verdict.Rejected, Reason: "InvalidRegularExpression",
				Field:   "spec.rules[0].matches[0].path.value",
				Message: `"/(" is no regular expression of RE2: missing ); close the group or write \( for the character`,
				Where:   "examples/shop/search.yaml:18", Serves: "generation 1 keeps serving", Since: Since.Add(time.Hour),
			},
			{
				Kind: "HTTPRoute", Name: "shop/legacy", State: verdict.Excluded, Reason: "NoMatchingListenerHostname",
				Field: "spec.hostnames[0]", Message: "no listener of gateway shop/edge matches hostname legacy.example",
				Where: "examples/shop/legacy.yaml:1", More: 2,
			},
			{
				Kind: "Secret", Name: "shop/tls", State: verdict.Serving, Reason: "CertificateExpired",
				Field: "data[tls.crt]", Message: "expired on 2026-11-28; renew it", Where: "examples/shop/tls.yaml:1",
			},
		},
	}
}

func beliefs() []admin.View {
	return []admin.View{
		{Proxy: "edge-0", Gateway: "shop/edge", Connected: true, Since: Since},
		{Proxy: "edge-1", Gateway: "shop/edge", Connected: true, Since: Since, Behind: 2, BehindFor: 3100 * time.Millisecond},
		{Proxy: "edge-2", Gateway: "shop/edge", Since: Since},
		{
			Proxy: "edge-3", Gateway: "shop/edge", Connected: true, Since: Since,
			Refused: []verdict.Refusal{{
				Proxy: "edge-3", Resource: verdict.Resource{Type: "Listener", Name: "shop/edge/127.0.0.1/9000"},
				Message: "cannot bind '127.0.0.1:9000': Address already in use",
			}},
		},
	}
}
