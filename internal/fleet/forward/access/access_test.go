package access

import (
	"bytes"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/credential"
)

var (
	now    = time.Unix(1_800_000_000, 0)
	key    = bytes.Repeat([]byte{7}, credential.MinKey)
	home   = netip.MustParseAddr("192.0.2.1")
	abroad = netip.MustParseAddr("198.51.100.1")
)

func policy(c Credentials) *Policy {
	c.Instance = "px-1"
	return &Policy{Credentials: c, Sources: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}
}

func TestWhoIsLetIn(t *testing.T) {
	lease, password := credential.Make(key, "px-1", "abc", now.Add(time.Minute))
	old, oldPassword := credential.Make(key, "px-1", "abc", now)
	foreign, foreignPassword := credential.Make(key, "px-2", "abc", now.Add(time.Minute))
	both := policy(Credentials{Username: "bob", Password: "secret", LeaseKey: key})
	for name, c := range map[string]struct {
		policy *Policy
		source netip.Addr
		given  *Given
		want   error
		lease  string
	}{
		"password":                         {both, abroad, &Given{"bob", "secret"}, nil, ""},
		"lease":                            {both, abroad, &Given{lease, password}, nil, "abc"},
		"nothing shown":                    {both, abroad, nil, ErrNeeded, ""},
		"nothing shown by a known source":  {both, home, nil, nil, ""},
		"known source, mapped":             {both, netip.MustParseAddr("::ffff:192.0.2.1"), nil, nil, ""},
		"wrong password of a known source": {both, home, &Given{"bob", "x"}, ErrWrong, ""},
		"wrong name":                       {both, abroad, &Given{"eve", "secret"}, ErrWrong, ""},
		"empty":                            {both, abroad, &Given{}, ErrWrong, ""},
		"lease that has ended":             {both, abroad, &Given{old, oldPassword}, ErrExpired, ""},
		"lease of another":                 {both, abroad, &Given{foreign, foreignPassword}, ErrWrong, ""},
		"lease without a key here":         {policy(Credentials{Username: "bob", Password: "secret"}), abroad, &Given{lease, password}, ErrWrong, ""},
		"no password here, only leases":    {policy(Credentials{LeaseKey: key}), abroad, &Given{}, ErrWrong, ""},
		"sources only":                     {policy(Credentials{}), home, nil, nil, ""},
		"sources only, password shown":     {policy(Credentials{}), home, &Given{"a", "b"}, nil, ""},
		"sources only, from elsewhere":     {policy(Credentials{}), abroad, &Given{"a", "b"}, ErrSource, ""},
		"open":                             {&Policy{Open: true}, abroad, nil, nil, ""},
		"open does not beat credentials":   {&Policy{Open: true, Credentials: Credentials{Username: "bob", Password: "secret"}}, abroad, nil, ErrNeeded, ""},
		"nothing at all":                   {&Policy{}, abroad, nil, ErrSource, ""},
	} {
		t.Run(name, func(t *testing.T) {
			grant, err := c.policy.Decide(c.source, c.given, now)
			if !errors.Is(err, c.want) || grant.Lease != c.lease {
				t.Errorf("%+v, %v", grant, err)
			}
			if ends := err == nil && c.lease != ""; ends == grant.Until.IsZero() {
				t.Errorf("ends at %s", grant.Until)
			}
		})
	}
}

func TestWrongPasswordsAreThrottledBySource(t *testing.T) {
	p, right, wrong := policy(Credentials{Username: "bob", Password: "secret"}), &Given{"bob", "secret"}, &Given{"bob", "guess"}
	decide := func(source netip.Addr, g *Given, at time.Time) error {
		_, err := p.Decide(source, g, at)
		return err
	}
	for i := range failures {
		if err := decide(abroad, wrong, now); !errors.Is(err, ErrWrong) {
			t.Fatalf("try %d: %v", i, err)
		}
	}
	if err := decide(abroad, right, now); !errors.Is(err, ErrThrottled) {
		t.Errorf("after too many: %v", err)
	}
	if err := decide(home, right, now); err != nil {
		t.Errorf("another source: %v", err)
	}
	later := now.Add(RetryAfter)
	if err := decide(abroad, right, later); err != nil {
		t.Errorf("right, later: %v", err)
	}
	if err := decide(abroad, wrong, later); !errors.Is(err, ErrWrong) {
		t.Errorf("wrong, later: %v", err)
	}
	if err := decide(abroad, wrong, later); !errors.Is(err, ErrThrottled) {
		t.Errorf("wrong again, later: %v", err)
	}
}

func TestOneUserOfIPv6IsOneSource(t *testing.T) {
	p := policy(Credentials{Username: "bob", Password: "secret"})
	a := netip.MustParseAddr("2001:db8::1")
	for range failures {
		_, _ = p.Decide(a, &Given{"bob", "x"}, now)
		a = a.Next()
	}
	if _, err := p.Decide(a, &Given{"bob", "x"}, now); !errors.Is(err, ErrThrottled) {
		t.Errorf("same network: %v", err)
	}
	if _, err := p.Decide(netip.MustParseAddr("2001:db8:0:1::1"), &Given{"bob", "x"}, now); !errors.Is(err, ErrWrong) {
		t.Errorf("other network: %v", err)
	}
}

func TestManySourcesAreForgotten(t *testing.T) {
	p, a := policy(Credentials{Username: "bob", Password: "secret"}), netip.MustParseAddr("1.0.0.0")
	for range 3 * rememberSources {
		_, _ = p.Decide(a, &Given{"bob", "x"}, now)
		a = a.Next()
	}
	if n := len(p.throttle.sources); n > rememberSources {
		t.Errorf("%d sources are remembered", n)
	}
}

func TestLoad(t *testing.T) {
	long := strings.Repeat("k", credential.MinKey)
	for name, c := range map[string]struct {
		files    map[string]string
		instance string
		want     Credentials
		err      string
	}{
		"password":       {map[string]string{"username": "bob\n", "password": "p w\r\n"}, "", Credentials{Username: "bob", Password: "p w"}, ""},
		"lease key":      {map[string]string{"lease-key": long + "\n"}, "px-1", Credentials{LeaseKey: []byte(long + "\n"), Instance: "px-1"}, ""},
		"others ignored": {map[string]string{"username": "a", "password": "b", "ca.crt": "x"}, "", Credentials{Username: "a", Password: "b"}, ""},
		"empty":          {nil, "", Credentials{}, ""},
		"only a name":    {map[string]string{"username": "bob"}, "", Credentials{}, "only one"},
		"only a secret":  {map[string]string{"password": "x"}, "", Credentials{}, "only one"},
		"empty password": {map[string]string{"username": "bob", "password": "\n"}, "", Credentials{}, "is empty"},
		"colon":          {map[string]string{"username": "a:b", "password": "x"}, "", Credentials{}, "colon"},
		"too long":       {map[string]string{"username": "a", "password": strings.Repeat("x", 256)}, "", Credentials{}, "255 bytes"},
		"short key":      {map[string]string{"lease-key": "short"}, "px-1", Credentials{}, "at least 32"},
		"empty key":      {map[string]string{"lease-key": "", "username": "a", "password": "b"}, "px-1", Credentials{}, "at least 32"},
		"no instance":    {map[string]string{"lease-key": long}, "", Credentials{}, "--instance"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, content := range c.files {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := Load(dir, c.instance)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%v, want one with %q", err, c.err)
				}
				return
			}
			if err != nil || got.Any() != c.want.Any() || got.Username != c.want.Username || got.Password != c.want.Password || !bytes.Equal(got.LeaseKey, c.want.LeaseKey) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// A Secret that is mounted into a pod is links to links.
func TestLoadFollowsTheLinksOfAMountedSecret(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "..2026"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"username": "bob", "password": "secret"} {
		if err := os.WriteFile(filepath.Join(dir, "..2026", name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("..2026", filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
	if c, err := Load(dir, ""); err != nil || c.Username != "bob" || c.Password != "secret" {
		t.Errorf("%+v, %v", c, err)
	}
}
