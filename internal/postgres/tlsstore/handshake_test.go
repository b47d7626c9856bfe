package tlsstore

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"testing"
	"time"
)

// memoryStore returns a Store and a pool that trusts its certificate.
func memoryStore(t *testing.T) (*Store, *x509.CertPool) {
	t.Helper()
	s, err := Memory(Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s, trusting(t, s)
}

func trusting(t *testing.T, s *Store) *x509.CertPool {
	t.Helper()
	leaf, err := x509.ParseCertificate(s.pair.Load().Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return pool
}

// shake makes one handshake and returns what each side says of it.
func shake(t *testing.T, server, client *tls.Config) (state tls.ConnectionState, serverErr, clientErr error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	here, there := net.Pipe()
	done := make(chan error, 1)
	go func() {
		defer here.Close()
		done <- tls.Server(here, server).HandshakeContext(ctx)
	}()
	conn := tls.Client(there, client)
	clientErr = conn.HandshakeContext(ctx)
	there.Close()
	return conn.ConnectionState(), <-done, clientErr
}

func TestHandshakes(t *testing.T) {
	s, trust := memoryStore(t)
	for _, test := range []struct {
		name           string
		server         *tls.Config
		protocols      []string
		min, max       uint16
		want           string // the protocol agreed on
		refused, noALP bool
	}{
		{name: "asked for, no protocol named", server: s.Config()},
		{name: "asked for, ours", server: s.Config(), protocols: []string{"postgresql"}, want: "postgresql"},
		{name: "asked for, ours and others", server: s.Config(), protocols: []string{"h2", "postgresql"}, want: "postgresql"},
		{name: "asked for, another", server: s.Config(), protocols: []string{"h2"}, refused: true},
		{name: "asked for, the one that crypto/tls forgives", server: s.Config(), protocols: []string{"http/1.1"}, refused: true},
		{name: "direct, ours", server: s.DirectConfig(), protocols: []string{"postgresql"}, want: "postgresql"},
		{name: "direct, none", server: s.DirectConfig(), refused: true, noALP: true},
		{name: "direct, another", server: s.DirectConfig(), protocols: []string{"http/1.1"}, refused: true},
		{name: "TLS 1.2", server: s.DirectConfig(), protocols: []string{"postgresql"}, max: tls.VersionTLS12, want: "postgresql"},
		{name: "TLS 1.1", server: s.Config(), min: tls.VersionTLS10, max: tls.VersionTLS11, refused: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			state, serverErr, clientErr := shake(t, test.server, &tls.Config{
				RootCAs: trust, ServerName: "localhost", NextProtos: test.protocols,
				MinVersion: test.min, MaxVersion: test.max,
			})
			if test.refused != (serverErr != nil) || test.refused && clientErr == nil {
				t.Fatalf("server: %v, client: %v; want refused: %v", serverErr, clientErr, test.refused)
			}
			if errors.Is(serverErr, ErrNoALPN) != test.noALP {
				t.Errorf("server: %v, want ErrNoALPN: %v", serverErr, test.noALP)
			}
			if !test.refused && state.NegotiatedProtocol != test.want {
				t.Errorf("agreed on %q, want %q", state.NegotiatedProtocol, test.want)
			}
		})
	}
}

func TestEveryNameVerifies(t *testing.T) {
	s, trust := memoryStore(t)
	if len(s.Status().Facts.Names) < 3 {
		t.Fatalf("names are %q", s.Status().Facts.Names)
	}
	for _, name := range s.Status().Facts.Names {
		if _, _, err := shake(t, s.Config(), &tls.Config{RootCAs: trust, ServerName: name}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A client that would resume gets a whole handshake: it sees the certificate of now.
func TestNothingResumes(t *testing.T) {
	s, trust := memoryStore(t)
	client := &tls.Config{RootCAs: trust, ServerName: "localhost", ClientSessionCache: tls.NewLRUClientSessionCache(1)}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		client.MaxVersion = version
		for range 2 {
			state, _, err := shake(t, s.Config(), client)
			if err != nil || state.DidResume {
				t.Errorf("%s: resumed: %v, error: %v", tls.VersionName(version), state.DidResume, err)
			}
		}
	}
}

// pemOf is the certificate that serves, for clients that read files.
func pemOf(s *Store) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.pair.Load().Certificate[0]})
}
