package session_test

import (
	"errors"
	"io"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/session"
	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
)

func TestNegotiation(t *testing.T) {
	const (
		ssl, gss, start, cancel, unknown = pgwire.SSLRequest, pgwire.GSSENCRequest, pgwire.Startup, pgwire.CancelRequest, pgwire.UnknownRequest
		no, tls, session_, sent          = session.AnswerNo, session.StartTLS, session.StartSession, session.SendCancel
	)
	for name, c := range map[string]struct {
		of      session.Negotiation
		packets []pgwire.Kind
		want    []session.Action
		refused string // SQLSTATE of the last packet
	}{
		"libpq with TLS":               {session.Negotiation{TLS: true}, []pgwire.Kind{gss, ssl, start}, []session.Action{no, tls, session_}, ""},
		"libpq without":                {session.Negotiation{}, []pgwire.Kind{gss, ssl, start}, []session.Action{no, no, session_}, ""},
		"in clear where TLS is needed": {session.Negotiation{TLS: true, Required: true}, []pgwire.Kind{start}, nil, session.InvalidAuthorization},
		"cancel in clear all the same": {session.Negotiation{TLS: true, Required: true}, []pgwire.Kind{cancel}, []session.Action{sent}, ""},
		"cancel inside TLS":            {session.Negotiation{TLS: true, Required: true}, []pgwire.Kind{ssl, cancel}, []session.Action{tls, sent}, ""},
		"TLS inside TLS":               {session.Negotiation{TLS: true}, []pgwire.Kind{ssl, ssl}, []session.Action{tls}, session.ProtocolViolation},
		"GSS inside TLS":               {session.Negotiation{TLS: true}, []pgwire.Kind{ssl, gss}, []session.Action{tls}, session.ProtocolViolation},
		"a fifth request":              {session.Negotiation{}, []pgwire.Kind{gss, ssl, gss, ssl, gss}, []session.Action{no, no, no, no}, session.ProtocolViolation},
		"unknown request":              {session.Negotiation{TLS: true}, []pgwire.Kind{unknown}, nil, session.ProtocolViolation},
	} {
		t.Run(name, func(t *testing.T) {
			for i, kind := range c.packets {
				got, err := c.of.Packet(pgwire.Packet{Kind: kind})
				if i == len(c.want) {
					if refusal, ok := errors.AsType[*session.RefusalError](err); !ok || refusal.SQLSTATE != c.refused {
						t.Errorf("packet %d: %v, want SQLSTATE %s", i, err, c.refused)
					}
					return
				}
				if err != nil || got != c.want[i] {
					t.Fatalf("packet %d: %v, %v; want %v", i, got, err, c.want[i])
				}
				if got == session.StartTLS {
					c.of.Secured()
				}
			}
		})
	}
}

func TestUnreadable(t *testing.T) {
	for want, raw := range map[string][]byte{
		session.FeatureNotSupported: {0, 0, 0, 8, 0, 2, 0, 0},
		session.ProtocolViolation:   {0, 0, 0, 4},
	} {
		_, err := pgwire.Decode(raw)
		if got := session.Unreadable(err); got == nil || got.SQLSTATE != want {
			t.Errorf("%x: %v is told as %v, want SQLSTATE %s", raw, err, got, want)
		}
	}
	if got := session.Unreadable(io.EOF); got != nil {
		t.Errorf("a port check is told %v", got)
	}
}
