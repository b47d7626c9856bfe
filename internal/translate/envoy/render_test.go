package envoy

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	envoy_cluster_v3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_tls_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

const hidden = "very-secret"

// keyed is a cluster with a key deep inside: in a list, in a message, in an Any,
// in a map.
func keyed(t *testing.T) xdsserve.Resource {
	t.Helper()
	context, err := anypb.New(&envoy_tls_v3.UpstreamTlsContext{CommonTlsContext: &envoy_tls_v3.CommonTlsContext{
		TlsCertificates: []*envoy_tls_v3.TlsCertificate{{
			CertificateChain: inlineBytes([]byte("public")),
			PrivateKey:       inlineBytes([]byte(hidden)),
			Password:         &envoy_core_v3.DataSource{Specifier: &envoy_core_v3.DataSource_InlineString{InlineString: hidden}},
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	body := encode(t, &envoy_cluster_v3.Cluster{
		Name:                          "a",
		TransportSocketMatches:        []*envoy_cluster_v3.Cluster_TransportSocketMatch{{Name: "m", TransportSocket: &envoy_core_v3.TransportSocket{Name: "tls", ConfigType: &envoy_core_v3.TransportSocket_TypedConfig{TypedConfig: context}}}},
		TypedExtensionProtocolOptions: map[string]*anypb.Any{"x": context},
	})
	return *seal(xdsserve.Cluster, string(edge), "a", body, nil, nil)
}

func TestSecretsAreRedacted(t *testing.T) {
	r := keyed(t)
	secretive := []string{hidden, "dmVyeS1zZWNyZXQ"} // and in base64
	text, err := JSON(r, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range secretive {
		if strings.Contains(string(text), s) {
			t.Errorf("%q is shown:\n%s", s, text)
		}
	}
	if n := strings.Count(string(text), redacted); n != 4 {
		t.Errorf("%d values say that they are redacted, want 4:\n%s", n, text)
	}
	shown, err := JSON(r, true)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(shown), secretive[1]) {
		t.Errorf("the key is not shown on demand:\n%s", shown)
	}
	if again, err := JSON(r, true); err != nil || !bytes.Equal(again, shown) {
		t.Errorf("rendering changed the resource, or is not stable: %v", err)
	}
}

func TestRenderedKeysAreSorted(t *testing.T) {
	r := *translateListener(httpPort, plain(nil, nil).Listeners[httpPort], model.Gateway{Settings: model.Settings{AccessLog: "-"}}, whole, Options{}).Resource
	text, err := JSON(r, false)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	again, err := json.MarshalIndent(value, "", "  ") // sorts keys
	if err != nil || !bytes.Equal(again, text) {
		t.Errorf("not in the one form (%v):\n%s", err, text)
	}
}

func TestRenderRefusesForeignBytes(t *testing.T) {
	for _, r := range []xdsserve.Resource{
		{Name: xdsserve.Name{Type: "type.googleapis.com/no.such.Type", Name: "a"}},
		{Name: xdsserve.Name{Type: xdsserve.Cluster, Name: "a"}, Body: []byte("not protobuf")},
	} {
		if text, err := JSON(r, false); err == nil || !strings.Contains(err.Error(), "resource a") {
			t.Errorf("%s: %s, %v; want an error that names the resource", r.Type, text, err)
		}
	}
}

func TestOriginsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ref := model.Ref{
			Collection: rapid.StringMatching(`[A-Za-z]+`).Draw(t, "kind"),
			Name:       rapid.StringMatching(`([a-z0-9-]+/)?[a-z0-9.-]+`).Draw(t, "name"),
		}
		if got, ok := ParseOrigin(Origin(ref)); !ok || got != ref {
			t.Fatalf("%v comes back as %v, %v", ref, got, ok)
		}
	})
	for _, s := range []string{"", "HTTPRoute", "HTTPRoute ", " shop/a"} {
		if ref, ok := ParseOrigin(s); ok {
			t.Errorf("%q is taken for %v", s, ref)
		}
	}
}

func TestRedactedBodiesStayMessages(t *testing.T) {
	r := keyed(t)
	body, err := Redacted(r)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(body, []byte(hidden)) || !bytes.Contains(body, []byte(redacted)) {
		t.Error("what is secret is shown, or not said to be redacted")
	}
	r.Body = body
	if _, err := Message(r); err != nil {
		t.Errorf("the redacted body is no message: %v", err)
	}
}
