package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// tls is HTTPS: which certificate, which listener, which answer.
func (s *stage) tls(t *testing.T) {
	for _, r := range []struct{ name, listener, host, backend string }{
		{"s-a", "a", "a.e2e.test", "red"}, {"s-b", "b", "b.e2e.test", "green"}, {"s-wild", "wild", "*.wild.e2e.test", "blue"},
	} {
		s.write(t, r.name+".yaml", route(r.name, r.listener, r.host, `  - `+to(r.backend)))
	}
	t.Run("each listener has its certificate and its routes", s.tlsListeners)
	t.Run("several certificates on one listener", s.tlsSeveral)
	t.Run("a name that no listener has is not answered", s.tlsUnknown)
	t.Run("a request for another listener's host gets 421", s.tlsMisdirected)
	t.Run("a rotated certificate is served", s.tlsRotated)
}

func (s *stage) tlsListeners(t *testing.T) {
	for host, backend := range map[string]string{"a.e2e.test": "red", "b.e2e.test": "green", "any.wild.e2e.test": "blue"} {
		s.eventually(t, "HTTPS on "+host, func(ctx context.Context) error {
			return s.try(ctx, host, try{through: "https", from: backend})
		})
	}
	// Plain HTTP has none of these routes.
	if err := s.try(t.Context(), "a.e2e.test", try{status: 404}); err != nil {
		t.Error(err)
	}
}

// handshake returns the names in the certificate that is served for a server name.
func (s *stage) handshake(ctx context.Context, sni string) ([]string, error) {
	got, err := rig.Do(ctx, rig.Request{Port: s.https, Host: sni, Roots: s.roots})
	if err != nil {
		return nil, err
	}
	return got.TLS.PeerCertificates[0].DNSNames, nil
}

func (s *stage) tlsSeveral(t *testing.T) {
	for sni, want := range map[string]string{"deep.wild.e2e.test": "deep.wild.e2e.test", "other.wild.e2e.test": "*.wild.e2e.test"} {
		s.eventually(t, sni+" is served "+want, func(ctx context.Context) error {
			names, err := s.handshake(ctx, sni)
			if err == nil && !slices.Equal(names, []string{want}) {
				err = fmt.Errorf("certificate for %q", names)
			}
			return err
		})
	}
}

func (s *stage) tlsUnknown(t *testing.T) {
	if names, err := s.handshake(t.Context(), "nobody.e2e.test"); err == nil {
		t.Errorf("served a certificate for %q", names)
	}
}

// tlsMisdirected sends requests for several hosts over one connection, as a
// browser does that reuses it (RFC 9113 section 9.1.1).
func (s *stage) tlsMisdirected(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		base := rig.Request{Port: s.https, Host: "a.e2e.test", Roots: s.roots, HTTP2: http2}
		client := rig.NewClient(base)
		for _, c := range []struct {
			host   string
			status int
		}{{"a.e2e.test", 200}, {"b.e2e.test", 421}, {"any.wild.e2e.test", 421}, {"nobody.e2e.test", 404}, {"a.e2e.test", 200}} {
			r := base
			r.Host = c.host
			got, err := client.Do(t.Context(), r)
			if err != nil || got.Status != c.status {
				t.Errorf("HTTP/2 %v, host %s: %d, %v, want %d", http2, c.host, got.Status, err, c.status)
			}
		}
		client.Close()
	}
}

func (s *stage) tlsRotated(t *testing.T) {
	serial := func(ctx context.Context) (string, error) {
		got, err := rig.Do(ctx, rig.Request{Port: s.https, Host: "b.e2e.test", Roots: s.roots})
		if err != nil {
			return "", err
		}
		if got.Status != http.StatusOK {
			return "", fmt.Errorf("status %d", got.Status)
		}
		return got.TLS.PeerCertificates[0].SerialNumber.String(), nil
	}
	old := must(serial(t.Context()))(t)
	s.secret(t, "b-tls.yaml", "b-tls", "b.e2e.test")
	s.eventually(t, "the new certificate is served", func(ctx context.Context) error {
		now, err := serial(ctx)
		if err == nil && now == old {
			err = fmt.Errorf("still certificate %s", old)
		}
		return err
	})
}
