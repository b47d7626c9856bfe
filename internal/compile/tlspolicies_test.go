package compile

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// authority is a ConfigMap with a certificate of an authority.
func authority(t *testing.T, name string) (document, certificate string) {
	t.Helper()
	data := testPairs(t)["good"]
	raw, err := base64.StdEncoding.DecodeString(strings.Split(strings.TrimPrefix(data, "{tls.crt: "), ",")[0])
	if err != nil {
		t.Fatal(err)
	}
	indented := strings.ReplaceAll(strings.TrimSpace(string(raw)), "\n", "\n    ")
	return "kind: ConfigMap\nmetadata: {name: " + name + ", namespace: shop}\ndata:\n  ca.crt: |\n    " + indented + "\n", string(raw)
}

func tlsPolicyYAML(name, more, target, validation string) string {
	return "kind: BackendTLSPolicy\nmetadata: {name: " + name + ", namespace: shop" + more + "}\nspec: {targetRefs: [" + target + "], validation: {" + validation + "}}"
}

const (
	toOne   = "{group: '', kind: Service, name: one}"
	usesOne = "kind: HTTPRoute\nmetadata: {name: r, namespace: shop}\nspec: {parentRefs: [{name: edge}], hostnames: [a.example], rules: [{backendRefs: [{name: one, port: 80}]}]}"
)

func TestBackendsByTLS(t *testing.T) {
	ca, certificate := authority(t, "ca")
	w := with(t, classYAML, edge, oneService, usesOne, ca,
		tlsPolicyYAML("p", "", toOne, "hostname: One.example, caCertificateRefs: [{group: '', kind: ConfigMap, name: ca}], subjectAltNames: [{type: Hostname, hostname: b.example}, {type: URI, uri: 'spiffe://x/y'}]"))
	cluster, _ := derive.Lookup(w.state, w.out.Model.Clusters, "shop/edge|shop/one:80")
	equal(t, cluster.TLS, &model.UpstreamTLS{SNI: "one.example", CA: []byte(certificate), Names: []model.SubjectName{{Value: "b.example"}, {URI: true, Value: "spiffe://x/y"}}})
	f := w.finding("BackendTLSPolicy", "shop/p")
	equal(t, reasons(f), []string{"ok Referenced"})
	equal(t, f.Status.Ancestors[0].Gateway, "shop/edge")
	equal(t, conditionText(f.Status.Ancestors[0].Conditions), "Accepted=True Accepted, ResolvedRefs=True ResolvedRefs")
	equal(t, reasons(w.finding("ConfigMap", "shop/ca")), []string{"ok Referenced"})
	w.remove("BackendTLSPolicy", "shop/p")
	cluster, _ = derive.Lookup(w.state, w.out.Model.Clusters, "shop/edge|shop/one:80")
	equal(t, cluster.TLS, (*model.UpstreamTLS)(nil))
	equal(t, reasons(w.finding("ConfigMap", "shop/ca")), []string{"excluded NotReferenced"})
}

// A policy that cannot be followed is not passed by: nothing is forwarded.
func TestPoliciesThatCannotBeFollowed(t *testing.T) {
	ca, _ := authority(t, "ca")
	for _, c := range []struct {
		name, validation string
		conditions       string
		reason           verdict.Reason
	}{
		{"no such ConfigMap", "hostname: a, caCertificateRefs: [{group: '', kind: ConfigMap, name: absent}]", "Accepted=False NoValidCACertificate, ResolvedRefs=False InvalidCACertificateRef", verdict.NoValidCACertificate},
		{"one of two", "hostname: a, caCertificateRefs: [{group: '', kind: ConfigMap, name: ca}, {group: '', kind: ConfigMap, name: absent}]", "Accepted=True Accepted, ResolvedRefs=False InvalidCACertificateRef", verdict.InvalidCACertificateRef},
		{"no certificate in it", "hostname: a, caCertificateRefs: [{group: '', kind: ConfigMap, name: empty}]", "Accepted=False NoValidCACertificate, ResolvedRefs=False InvalidCACertificateRef", verdict.NoValidCACertificate},
		{"another kind", "hostname: a, caCertificateRefs: [{group: example.net, kind: Thing, name: x}]", "Accepted=False NoValidCACertificate, ResolvedRefs=False InvalidKind", verdict.NoValidCACertificate},
		{"unknown authorities", "hostname: a, wellKnownCACertificates: Best", "Accepted=False Invalid, ResolvedRefs=True ResolvedRefs", verdict.UnsupportedValue},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := with(t, classYAML, edge, oneService, usesOne, ca, "kind: ConfigMap\nmetadata: {name: empty, namespace: shop}\ndata: {ca.crt: nothing}", tlsPolicyYAML("p", "", toOne, c.validation))
			equal(t, action(hostRoutes(t, w, "a.example")[0]), "500")
			f := w.finding("BackendTLSPolicy", "shop/p")
			equal(t, conditionText(f.Status.Ancestors[0].Conditions), c.conditions)
			if f.Steps[0].Reason != c.reason.Name {
				t.Errorf("steps %v", f.Steps)
			}
			if r := w.finding("HTTPRoute", "shop/r"); !hasStep(r, verdict.WasExcluded, c.reason) {
				t.Errorf("the route says %v", r.Steps)
			}
		})
	}
}

// The older policy goes first, and one for a port before one for all.
func TestPoliciesOfOneService(t *testing.T) {
	service := "kind: Service\nmetadata: {name: one, namespace: shop}\nspec: {ports: [{name: web, port: 80}]}"
	system := func(host string) string { return "wellKnownCACertificates: System, hostname: " + host }
	w := with(t, classYAML, edge, service, usesOne,
		tlsPolicyYAML("young", ", creationTimestamp: '2026-01-02T00:00:00Z'", "{group: '', kind: Service, name: one, sectionName: web}", system("young")),
		tlsPolicyYAML("old", ", creationTimestamp: '2026-01-01T00:00:00Z'", "{group: '', kind: Service, name: one, sectionName: web}", system("old")),
		tlsPolicyYAML("general", "", toOne, system("general")))
	cluster, _ := derive.Lookup(w.state, w.out.Model.Clusters, "shop/edge|shop/one:80")
	equal(t, cluster.TLS.SNI, "old")
	for name, want := range map[string]string{"old": "Accepted", "general": "Accepted", "young": "Conflicted"} {
		equal(t, w.finding("BackendTLSPolicy", "shop/"+name).Status.Ancestors[0].Conditions[0].Reason, want)
	}
}

// A target that does not exist is said, whether or not the others are used: what it
// was to protect is reached in clear.
func TestTargetsOfPoliciesThatDoNotExist(t *testing.T) {
	for _, c := range []struct{ name, targets, want, field string }{
		{"Service", "{group: '', kind: Service, name: absent}", "excluded TargetNotFound", "spec.targetRefs[0]"},
		{"ServiceImport", "{group: multicluster.x-k8s.io, kind: ServiceImport, name: absent}", "excluded TargetNotFound", "spec.targetRefs[0]"},
		{"port", "{group: '', kind: Service, name: one, sectionName: absent}", "excluded TargetNotFound", "spec.targetRefs[0].sectionName"},
		{"kind", "{group: example.net, kind: Thing, name: one}", "excluded NoEffect", "spec.targetRefs[0].kind"},
		{"two", "{group: '', kind: Service, name: absent}, {group: '', kind: Service, name: gone}", "excluded TargetNotFound, warning TargetNotFound", "spec.targetRefs[0]"},
		{"beside a good one", toOne + ", {group: '', kind: Service, name: absent}", "ok Referenced, warning TargetNotFound", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := with(t, classYAML, edge, oneService, usesOne, tlsPolicyYAML("p", "", c.targets, "wellKnownCACertificates: System, hostname: one"))
			f := w.finding("BackendTLSPolicy", "shop/p")
			equal(t, strings.Join(reasons(f), ", "), c.want)
			equal(t, f.Steps[0].Field, c.field)
		})
	}
}

// TLS that goes through to the backend is not wrapped once more.
func TestPolicyAndPassthrough(t *testing.T) {
	w := with(t, classYAML, oneService, "kind: Secret\nmetadata: {name: tls, namespace: shop}\ndata: "+testPairs(t)["good"],
		gatewayYAML("{name: through, port: 443, protocol: TLS, hostname: a.example, tls: {mode: Passthrough}}", "{name: ended, port: 443, protocol: TLS, hostname: b.example, tls: {certificateRefs: [{name: tls}]}}"),
		tlsRoute("a", "*.example", ""), tlsPolicyYAML("p", "", toOne, "wellKnownCACertificates: System, hostname: one"))
	through, _ := derive.Lookup(w.state, w.out.Model.Clusters, "shop/edge|tls/shop/one:80")
	ended, _ := derive.Lookup(w.state, w.out.Model.Clusters, "shop/edge|tcp/shop/one:80")
	if through.ID == "" || through.TLS != nil || ended.TLS == nil {
		t.Errorf("through %+v, ended %+v", through, ended)
	}
}

func TestBundleOfTheCluster(t *testing.T) {
	_, certificate := authority(t, "ca")
	bundle := "kind: ClusterTrustBundle\nmetadata: {name: all}\nspec:\n  trustBundle: |\n    " + strings.ReplaceAll(strings.TrimSpace(certificate), "\n", "\n    ") + "\n"
	w := with(t, classYAML, edge, oneService, usesOne, bundle, tlsPolicyYAML("p", "", toOne, "hostname: a, caCertificateRefs: [{group: certificates.k8s.io, kind: ClusterTrustBundle, name: all}]"))
	cluster, _ := derive.Lookup(w.state, w.out.Model.Clusters, "shop/edge|shop/one:80")
	equal(t, string(cluster.TLS.CA), certificate)
	equal(t, reasons(w.finding("ClusterTrustBundle", "all")), []string{"ok Referenced"})
}
