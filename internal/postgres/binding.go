package postgres

import (
	"bytes"
	"crypto/tls"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/session"
	"github.com/gatehouse-proxy/gatehouse/pkg/proxy"
)

// noting returns a configuration that notes the certificate which the client sees, if
// servers show theirs.
func (r *Router) noting(config *tls.Config, c *client) *tls.Config {
	if r.options.Servers == nil || config.GetCertificate == nil {
		return config
	}
	noting := config.Clone()
	noting.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		shown, err := config.GetCertificate(hello)
		if err == nil && len(shown.Certificate) > 0 {
			c.sees = shown.Certificate[0]
		}
		return shown, err
	}
	return noting
}

// legs tells of a session that has reached its server.
func (s *running) legs() session.Legs {
	_, secured := s.client.(*tls.Conn)
	legs := session.Legs{ClientTLS: secured}
	if server, ok := s.server.(*tls.Conn); ok {
		legs.ServerTLS = true
		legs.SameCertificate = bytes.Equal(s.sees, server.ConnectionState().PeerCertificates[0].Raw)
	}
	return legs
}

// answered looks at what the client answers to the server's request to log in.
func (s *running) answered() proxy.Verdict {
	login := s.tracker.Login()
	if login.Mechanism == "" {
		return proxy.Verdict{}
	}
	if vain := s.legs().Vain(login); vain != nil {
		return s.stop(0, vain)
	}
	return proxy.Verdict{}
}

// leftError guesses why a client left its login. It cannot be told.
type leftError struct{ guess string }

func (e *leftError) Error() string { return "the client left when it was asked to log in: " + e.guess }

// left guesses why a session ended before the client had answered.
func (s *running) left(first proxy.Party) error {
	if first != proxy.A {
		return nil
	}
	if guess := s.legs().Left(s.tracker.Login()); guess != "" {
		return &leftError{guess}
	}
	return nil
}
