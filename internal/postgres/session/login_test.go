package session_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/session"
)

func TestParseLogin(t *testing.T) {
	long := strings.Repeat("u", 200)
	for name, want := range map[string]session.Login{
		"bob.orders":        {User: "bob", Deployment: "orders"},
		"bob.orders.pool":   {User: "bob", Deployment: "orders", Pooled: true},
		"a.b.orders":        {User: "a.b", Deployment: "orders"},
		"a.b.c.d.pool":      {User: "a.b.c", Deployment: "d", Pooled: true},
		"x.pool.pool":       {User: "x", Deployment: "pool", Pooled: true},
		"x.d.POOL":          {User: "x.d", Deployment: "POOL"},
		"bob":               {User: "bob"},
		"pool":              {User: "pool"},
		"..d":               {User: ".", Deployment: "d"},
		long + ".d":         {User: long, Deployment: "d"},
		"bö b\x1b\n%2e@/.d": {User: "bö b\x1b\n%2e@/", Deployment: "d"},
		"\xff\xfe.d":        {User: "\xff\xfe", Deployment: "d"},
	} {
		got, err := session.ParseLogin(name)
		if err != nil || got != want {
			t.Errorf("%q: got %+v, %v; want %+v", name, got, err, want)
		}
	}
	for _, name := range []string{".d", "d.", "..", ".", "x.pool", ".pool", ".d.pool", "x..pool"} {
		got, err := session.ParseLogin(name)
		refusal, ok := errors.AsType[*session.RefusalError](err)
		if !ok || refusal.SQLSTATE != session.InvalidAuthorization || !strings.Contains(refusal.Hint, "USER.DEPLOYMENT") {
			t.Errorf("%q: got %+v, %v; want a refusal with a hint", name, got, err)
		}
	}
}

// A login that was read is written as it was.
func TestLoginIsItsName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringOf(rapid.RuneFrom([]rune("abpool.."))).Draw(t, "name")
		if login, err := session.ParseLogin(name); err == nil && login.String() != name {
			t.Errorf("%q was read as %+v", name, login)
		}
	})
}

// No control byte of a client's name reaches a message.
func TestRefusalsAreClean(t *testing.T) {
	_, err := session.ParseLogin("x\x1b[2J\n" + strings.Repeat("y", 500) + ".")
	if text := err.Error(); strings.ContainsAny(text, "\x1b\n") || len(text) > 300 {
		t.Errorf("message: %q", text)
	}
}
