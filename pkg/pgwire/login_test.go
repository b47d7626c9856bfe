package pgwire_test

import (
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
)

func TestLogin(t *testing.T) {
	var tracker pgwire.Tracker
	play(t, &tracker, "= busy\n< v R10")
	answer := "SCRAM-SHA-256\x00\x00\x00\x00\x20n,,n=,r=nonce"
	tracker.Frontend(message('p', answer))
	play(t, &tracker, "< R11\n> p\n< R12 R0 S S K\n= busy\n< ZI\n= idle")

	got := tracker.Login()
	if got.Mechanism != "SCRAM-SHA-256" || got.Binding != 'n' || got.Answers != 2 {
		t.Errorf("client chose %q, binding %q, in %d answers", got.Mechanism, got.Binding, got.Answers)
	}
	if mechanisms := strings.Join(got.Mechanisms, " "); mechanisms != "SCRAM-SHA-256-PLUS SCRAM-SHA-256" {
		t.Errorf("mechanisms %q", mechanisms)
	}
	if want := (pgwire.Key{PID: 0x1001, Secret: "abcd"}); got.Key != want {
		t.Errorf("key %v, want %v", got.Key, want)
	}
	if !got.Asked(pgwire.AuthOk) || got.Asked(pgwire.AuthMD5) || got.Negotiated != pgwire.Version30 {
		t.Errorf("login %+v", got)
	}
}

func TestLoginByMD5(t *testing.T) {
	var tracker pgwire.Tracker
	tracker.Backend(script("R5"))
	if got := tracker.Login(); !got.Asked(pgwire.AuthMD5) || got.Asked(pgwire.AuthOk) {
		t.Errorf("login %+v", got)
	}
}

func TestPipelinedLogin(t *testing.T) {
	var tracker pgwire.Tracker
	play(t, &tracker, "> p Q\n< R3 R0 K ZI\n= busy\n< C ZI\n= idle")
}

func TestLastError(t *testing.T) {
	for name, test := range map[string]struct {
		payload string
		want    pgwire.ServerError
	}{
		"both severities":  {"SFATAL\x00VFATAL\x00C28P01\x00Mno\x00\x00", pgwire.ServerError{Severity: pgwire.Fatal, SQLSTATE: "28P01"}},
		"translated":       {"SFEHLER\x00VERROR\x00C42601\x00\x00", pgwire.ServerError{Severity: pgwire.Error, SQLSTATE: "42601"}},
		"order":            {"VPANIC\x00C58000\x00SFATAL\x00\x00", pgwire.ServerError{Severity: pgwire.Panic, SQLSTATE: "58000"}},
		"older server":     {"SFATAL\x00C28000\x00\x00", pgwire.ServerError{Severity: pgwire.Fatal, SQLSTATE: "28000"}},
		"neither":          {"SFEHLER\x00Mmessage\x00\x00", pgwire.ServerError{}},
		"code of a length": {"C123456\x00\x00", pgwire.ServerError{}},
		"cut off":          {"VFATAL\x00C57P", pgwire.ServerError{Severity: pgwire.Fatal}},
		"empty":            {"", pgwire.ServerError{}},
	} {
		t.Run(name, func(t *testing.T) {
			var tracker pgwire.Tracker
			tracker.Backend(message('E', test.payload))
			if got := tracker.LastError(); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}
