package session

import (
	"testing"

	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
)

func TestBinding(t *testing.T) {
	clear, plus := []string{"SCRAM-SHA-256"}, []string{"SCRAM-SHA-256-PLUS", "SCRAM-SHA-256"}
	clearServer, other, same := Legs{ClientTLS: true}, Legs{ClientTLS: true, ServerTLS: true}, Legs{ClientTLS: true, ServerTLS: true, SameCertificate: true}
	for name, c := range map[string]struct {
		legs      Legs
		offers    []string
		mechanism string
		binding   byte
		vain      bool
	}{
		"no answer yet":                       {other, plus, "", 0, false},
		"a server in clear, client might":     {clearServer, clear, "SCRAM-SHA-256", 'y', false},
		"a server in clear, client cannot":    {clearServer, clear, "SCRAM-SHA-256", 'n', false},
		"another certificate, client binds":   {other, plus, "SCRAM-SHA-256-PLUS", 'p', true},
		"another certificate, client cannot":  {other, plus, "SCRAM-SHA-256", 'n', false},
		"another certificate, client might":   {other, plus, "SCRAM-SHA-256", 'y', true},
		"the same certificate, client binds":  {same, plus, "SCRAM-SHA-256-PLUS", 'p', false},
		"the same certificate, client might":  {same, plus, "SCRAM-SHA-256", 'y', true},
		"a client in clear, it cannot":        {Legs{ServerTLS: true}, plus, "SCRAM-SHA-256", 'n', false},
		"a client in clear, it binds somehow": {Legs{ServerTLS: true}, plus, "SCRAM-SHA-256-PLUS", 'p', true},
		"a mechanism that binds nothing":      {other, append(plus, "OAUTHBEARER"), "OAUTHBEARER", 'y', false},
	} {
		login := pgwire.Login{Requests: []pgwire.AuthRequest{pgwire.AuthSASL}, Mechanisms: c.offers, Mechanism: c.mechanism, Binding: c.binding}
		if vain := c.legs.Vain(login); (vain != nil) != c.vain {
			t.Errorf("%s: %v", name, vain)
		}
	}
}

func TestLeft(t *testing.T) {
	offer := func(mechanisms ...string) pgwire.Login {
		return pgwire.Login{Requests: []pgwire.AuthRequest{pgwire.AuthSASL}, Mechanisms: mechanisms}
	}
	answered := offer("SCRAM-SHA-256")
	answered.Answers = 1
	for name, c := range map[string]struct {
		legs  Legs
		login pgwire.Login
		told  bool
	}{
		"binding is offered in clear": {Legs{ServerTLS: true}, offer("SCRAM-SHA-256-PLUS", "SCRAM-SHA-256"), true},
		"none is offered":             {Legs{ClientTLS: true}, offer("SCRAM-SHA-256"), true},
		"none is offered in clear":    {Legs{}, offer("SCRAM-SHA-256"), false},
		"binding is offered":          {Legs{ClientTLS: true, ServerTLS: true}, offer("SCRAM-SHA-256-PLUS"), false},
		"it was answered":             {Legs{ClientTLS: true}, answered, false},
		"nothing was asked":           {Legs{ClientTLS: true}, pgwire.Login{}, false},
	} {
		if left := c.legs.Left(c.login); (left != "") != c.told {
			t.Errorf("%s: %q", name, left)
		}
	}
}
