package envoy

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// TestBackendsAreVerified: by the authorities that a backend is given, and by its
// names, or else by the name that is asked for.
func TestBackendsAreVerified(t *testing.T) {
	ours, others := newAuthority(t), newAuthority(t)
	at := secureBackend(t, ours, "one.example", "two.example")
	w := plain(nil, nil)
	cases := map[string]struct {
		tls    model.UpstreamTLS
		status int
	}{
		"name":       {model.UpstreamTLS{SNI: "one.example", CA: ours.ca.Cert}, 200},
		"other-name": {model.UpstreamTLS{SNI: "three.example", CA: ours.ca.Cert}, 503},
		"other-ca":   {model.UpstreamTLS{SNI: "one.example", CA: others.ca.Cert}, 503},
		"both-ca":    {model.UpstreamTLS{SNI: "one.example", CA: append(others.ca.Cert, ours.ca.Cert...)}, 200},
		"names":      {model.UpstreamTLS{SNI: "asked.example", CA: ours.ca.Cert, Names: []model.SubjectName{{Value: "x.example"}, {Value: "two.example"}}}, 200},
		"no-name":    {model.UpstreamTLS{SNI: "one.example", CA: ours.ca.Cert, Names: []model.SubjectName{{Value: "x.example"}}}, 503},
		"uri":        {model.UpstreamTLS{SNI: "one.example", CA: ours.ca.Cert, Names: []model.SubjectName{{URI: true, Value: "spiffe://x/y"}}}, 503},
		"system":     {model.UpstreamTLS{SNI: "one.example"}, 503},
	}
	host := model.VirtualHost{Domain: "*"}
	for name, c := range cases {
		w.addBackend(name, model.UpstreamHTTP1, at)
		w.Clusters[len(w.Clusters)-1].TLS = &c.tls
		host.Routes = append(host.Routes, model.Route{Name: "shop/" + name, Match: prefix("/" + name), Forward: to(name)})
	}
	w.Tables[0].Hosts = []model.VirtualHost{host}
	f := serve(t, w)
	for name, c := range cases {
		got := f.ask(question{Path: "/" + name})
		if got.Status != c.status {
			t.Errorf("%s: status %d, want %d", name, got.Status, c.status)
		}
		if got.Status == http.StatusOK && got.Header.Get("X-Name") != c.tls.SNI {
			t.Errorf("%s: the backend was asked for %q, want %q", name, got.Header.Get("X-Name"), c.tls.SNI)
		}
	}
}

// secureBackend answers over TLS, of the newest version only, with the name that it was asked for and the
// client that it was shown.
func secureBackend(t *testing.T, a authority, names ...string) netip.AddrPort {
	t.Helper()
	pair := a.leaf(names...)
	certificate, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Name", r.TLS.ServerName)
		if shown := r.TLS.PeerCertificates; len(shown) > 0 {
			w.Header().Set("X-Client", shown[0].Subject.CommonName)
		}
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS13}
	server.StartTLS()
	t.Cleanup(server.Close)
	return netip.MustParseAddrPort(server.Listener.Addr().String())
}
