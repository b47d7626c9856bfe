package compile

import (
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

func TestClientsOfAListener(t *testing.T) {
	secret := "kind: Secret\nmetadata: {name: a, namespace: shop}\ndata: " + testPairs(t)["good"]
	ca, certificate := authority(t, "ca")
	const https = "{name: web, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: a}]}}"
	ref := func(name string) string { return "{group: '', kind: ConfigMap, name: " + name + "}" }
	for _, c := range []struct {
		name, frontend string
		check          *model.ClientCheck // nil where the listener must not serve
		listener       string
		gateway        string
	}{
		{
			"verified", "default: {validation: {caCertificateRefs: [" + ref("ca") + "]}}", &model.ClientCheck{CA: []byte(certificate)},
			"Accepted=True Accepted, Conflicted=False NoConflicts, ResolvedRefs=True ResolvedRefs", "Accepted=True Accepted",
		},
		{
			"by port", "default: {validation: {caCertificateRefs: [" + ref("absent") + "]}}, perPort: [{port: 443, tls: {validation: {caCertificateRefs: [" + ref("ca") + "]}}}]", &model.ClientCheck{CA: []byte(certificate)},
			"Accepted=True Accepted, Conflicted=False NoConflicts, ResolvedRefs=True ResolvedRefs", "Accepted=True Accepted",
		},
		{
			"optional", "default: {validation: {mode: AllowInsecureFallback, caCertificateRefs: [" + ref("ca") + "]}}", &model.ClientCheck{CA: []byte(certificate), Optional: true},
			"Accepted=True Accepted, Conflicted=False NoConflicts, ResolvedRefs=True ResolvedRefs", "Accepted=True Accepted, InsecureFrontendValidationMode=True ConfigurationChanged",
		},
		{
			"one of two", "default: {validation: {caCertificateRefs: [" + ref("absent") + ", " + ref("ca") + "]}}", &model.ClientCheck{CA: []byte(certificate)},
			"Accepted=True Accepted, Conflicted=False NoConflicts, ResolvedRefs=False InvalidCACertificateRef", "Accepted=True Accepted",
		},
		{
			"none", "default: {validation: {caCertificateRefs: [" + ref("absent") + "]}}", nil,
			"Accepted=False NoValidCACertificate, Conflicted=False NoConflicts, ResolvedRefs=False InvalidCACertificateRef, Programmed=False Invalid", "Accepted=False ListenersNotValid, Programmed=False Invalid",
		},
		{
			"another kind", "default: {validation: {caCertificateRefs: [{group: example.net, kind: Thing, name: x}]}}", nil,
			"Accepted=False NoValidCACertificate, Conflicted=False NoConflicts, ResolvedRefs=False InvalidCACertificateKind, Programmed=False Invalid", "Accepted=False ListenersNotValid, Programmed=False Invalid",
		},
		{
			"another namespace", "default: {validation: {caCertificateRefs: [{group: '', kind: ConfigMap, name: ca, namespace: other}]}}", nil,
			"Accepted=False NoValidCACertificate, Conflicted=False NoConflicts, ResolvedRefs=False RefNotPermitted, Programmed=False Invalid", "Accepted=False ListenersNotValid, Programmed=False Invalid",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := with(t, classYAML, secret, ca, gatewayYAML(https)+"  tls: {frontend: {"+c.frontend+"}}\n")
			l, served := derive.Lookup(w.state, w.out.Model.Listeners, "shop/edge/default/443")
			if served != (c.check != nil) {
				t.Fatalf("served %v", served)
			}
			if served {
				equal(t, l.Chains[0].Clients, c.check)
				equal(t, reasons(w.finding("ConfigMap", "shop/ca")), []string{"ok Referenced"})
			}
			status := w.finding("Gateway", "shop/edge").Status
			equal(t, conditionText(status.Listeners[0].Conditions), c.listener)
			equal(t, conditionText(status.Conditions), c.gateway)
		})
	}
}

// The Gateway shows its certificate to backends that are reached by TLS, and to no other.
func TestCertificateForBackends(t *testing.T) {
	secret := "kind: Secret\nmetadata: {name: own, namespace: shop}\ndata: " + testPairs(t)["good"]
	gateway := gatewayYAML("{name: http, port: 8080, protocol: HTTP}") + "  tls: {backend: {clientCertificateRef: {name: own}}}\n"
	two := "kind: Service\nmetadata: {name: two, namespace: shop}\nspec: {ports: [{port: 80}]}"
	uses := "kind: HTTPRoute\nmetadata: {name: r, namespace: shop}\nspec: {parentRefs: [{name: edge}], hostnames: [a.example], rules: [{backendRefs: [{name: one, port: 80}, {name: two, port: 80}]}]}"
	w := with(t, classYAML, gateway, oneService, two, uses, tlsPolicyYAML("p", "", toOne, "wellKnownCACertificates: System, hostname: one"))
	equal(t, conditionText(w.finding("Gateway", "shop/edge").Status.Conditions), "Accepted=True Accepted, ResolvedRefs=False InvalidClientCertificateRef")
	w.apply(secret)
	equal(t, conditionText(w.finding("Gateway", "shop/edge").Status.Conditions), "Accepted=True Accepted, ResolvedRefs=True ResolvedRefs")
	for cluster, want := range map[string]model.CertificateID{"shop/one:80": "shop/own", "shop/two:80": ""} {
		c, _ := derive.Lookup(w.state, w.out.Model.Clusters, "shop/edge|"+cluster)
		equal(t, c.ClientCertificate, want)
	}
	certificate, _ := derive.Lookup(w.state, w.out.Model.Certificates, "shop/edge|shop/own")
	equal(t, certificate.ID, model.CertificateID("shop/own"))
	equal(t, reasons(w.finding("Secret", "shop/own")), []string{"ok Referenced"})
}
