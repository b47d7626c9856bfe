package tlsstore

import (
	"crypto/tls"
	"errors"
)

// ALPN is the protocol that PostgreSQL clients name in a TLS handshake, if they name any.
// See https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-SSL.
const ALPN = "postgresql"

// ErrNoALPN ends a direct TLS handshake in which the client names no protocol: what it
// speaks need not be PostgreSQL.
var ErrNoALPN = errors.New(`direct TLS without ALPN: want the protocol "` + ALPN + `"; clients that cannot name it ask with SSLRequest first`)

// ErrNoCertificate ends handshakes before a Store has a certificate.
var ErrNoCertificate = errors.New("there is no certificate yet")

// Config is for handshakes that an SSLRequest asked for. A client that names protocols
// (ALPN) must name ALPN among them, one that names none is served: older clients do not.
// It must not be changed.
func (s *Store) Config() *tls.Config { return s.asked }

// DirectConfig is for handshakes that begin a connection. The client must name ALPN;
// otherwise the handshake fails, with ErrNoALPN if it names no protocol at all. It must
// not be changed.
func (s *Store) DirectConfig() *tls.Config { return s.direct }

// config has no session tickets, as PostgreSQL has none: no client in use resumes, and
// a resumed session would bring back the certificate before the last.
func (s *Store) config() *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS12,
		NextProtos:             []string{ALPN},
		SessionTicketsDisabled: true,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			if pair := s.pair.Load(); pair != nil {
				return pair, nil
			}
			return nil, ErrNoCertificate
		},
	}
}

// refuseWithoutALPN ends the handshake before anything is signed.
func refuseWithoutALPN(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	if len(hello.SupportedProtos) == 0 {
		return nil, ErrNoALPN
	}
	return nil, nil
}
