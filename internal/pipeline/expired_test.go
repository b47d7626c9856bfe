package pipeline

import (
	"strings"
	"testing"
	"time"

	core_v1 "k8s.io/api/core/v1"
	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/validator"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// secure is a Gateway that serves HTTPS with Secret shop/tls.
func secure() *gateway_v1.Gateway {
	g := edge("edge", 8443)
	g.Spec.Listeners[0].Protocol = gateway_v1.HTTPSProtocolType
	g.Spec.Listeners[0].TLS = &gateway_v1.ListenerTLSConfig{CertificateRefs: []gateway_v1.SecretObjectReference{{Name: "tls"}}}
	return g
}

// TestRetainedSecretClosesAfterSevenDays: a bad rotation leaves the previous pair in
// force, with its age told, and not for longer than a week; a repair brings it back.
func TestRetainedSecretClosesAfterSevenDays(t *testing.T) {
	pair, err := tlsutil.SelfSigned(tlsutil.From(time.Now(), 24*time.Hour), "shop.example")
	if err != nil {
		t.Fatal(err)
	}
	good := &core_v1.Secret{ObjectMeta: named("tls"), Data: map[string][]byte{"tls.crt": pair.Cert, "tls.key": pair.Key}}
	bad := &core_v1.Secret{ObjectMeta: named("tls"), Data: map[string][]byte{"tls.crt": pair.Cert, "tls.key": []byte("none")}}
	inWorld(t, func(w world) {
		w.connect(edgeGroup)
		w.change(edit("Gateway", secure()), edit("Secret", good))

		w.change(edit("Secret", bad))
		time.Sleep(3 * 24 * time.Hour)

		w.inForce("Secret", "shop/tls", verdict.Retained, "retained for 3 days; closes in")
		if !w.proxies.has(edgeGroup, xdsserve.Secret) {
			w.Error("the previous pair is gone")
		}
		time.Sleep(4*24*time.Hour + time.Minute)
		w.inForce("Secret", "shop/tls", verdict.Closed, "retained for 7 days at most")
		if w.proxies.has(edgeGroup, xdsserve.Secret) {
			w.Error("the previous pair is still served with after seven days")
		}

		w.change(edit("Secret", good))
		if !w.proxies.has(edgeGroup, xdsserve.Secret) {
			w.Error("the repaired pair is not served with")
		}
	})
}

// inForce checks what the verdict says of what serves of a rejected object.
func (w world) inForce(kind, name string, reason verdict.Reason, text string) {
	w.Helper()
	for _, s := range w.why(kind, name).Steps {
		if s.Reason == reason.Name && strings.Contains(s.Message, text) {
			return
		}
	}
	w.Errorf("verdict %+v, want a step %s with %q", w.why(kind, name), reason.Name, text)
}

// TestNarrowedGatewayServesNoWider: an edit takes routes of other namespaces out and is
// refused for a port: the Gateway stays as it was, and those routes are out.
func TestNarrowedGatewayServesNoWider(t *testing.T) {
	gateway := func(port int32, from gateway_v1.FromNamespaces) *gateway_v1.Gateway {
		g := edge("edge", port)
		g.Spec.Listeners[0].AllowedRoutes = &gateway_v1.AllowedRoutes{Namespaces: &gateway_v1.RouteNamespaces{From: &from}}
		return g
	}
	away := route("away", "cart")
	away.Namespace, away.Spec.Hostnames = "web", []gateway_v1.Hostname{"away.example"}
	away.Spec.ParentRefs[0].Namespace = new(gateway_v1.Namespace("shop"))
	strict := &scripted{judges: func(c validator.Candidate) []validator.Refusal {
		for r := range c.All {
			if strings.HasSuffix(r.Name.Name, "/9090") && r.Name.Type == xdsserve.Listener {
				return []validator.Refusal{{Message: "not that port"}}
			}
		}
		return nil
	}}
	inJudgedWorld(t, []Judged{{Validator: strict, Required: true}}, func(w world) {
		w.connect(edgeGroup)
		w.change(edit("Gateway", gateway(8080, gateway_v1.NamespacesFromAll)), edit("HTTPRoute", away))
		if !w.proxies.serves(xdsserve.Routes, "web/away") {
			w.Fatal("the route of another namespace is not served at first")
		}

		w.change(edit("Gateway", gateway(9090, gateway_v1.NamespacesFromSame)))

		w.inForce("Gateway", "shop/edge", verdict.Narrowed, "as far as the rejected one lets it")
		if w.proxies.serves(xdsserve.Routes, "web/away") {
			w.Error("the route that was taken out is still served")
		}
		if !w.proxies.serves(xdsserve.Routes, "shop/shop") || !w.proxies.has(edgeGroup, xdsserve.Listener) {
			w.Error("the Gateway's own route is not served any more")
		}
	})
}
