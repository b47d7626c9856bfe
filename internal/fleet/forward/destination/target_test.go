package destination

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

func TestPorts(t *testing.T) {
	ports, err := ParsePorts(DefaultPorts)
	if err != nil {
		t.Fatal(err)
	}
	all, err := ParsePorts("1-65535")
	if err != nil {
		t.Fatal(err)
	}
	for port := range 65536 {
		p := uint16(port)
		mail := p == 25 || p == 465 || p == 587
		if got, want := ports.Contains(p), p == 80 || p == 443 || p > 1023; got != want {
			t.Errorf("port %d by default: %t", p, got)
		}
		if got, want := all.Contains(p), p > 0 && !mail; got != want {
			t.Errorf("port %d of all: %t", p, got)
		}
	}
}

func TestPortsThatCannotBeRead(t *testing.T) {
	for _, text := range []string{"", "0", "80,", "x", "65536", "9-8", "1-", "-1", "25", "80,465", "1-2-3", "+5"} {
		if ports, err := ParsePorts(text); err == nil {
			t.Errorf("%q is %v", text, ports)
		}
	}
}

func TestTargets(t *testing.T) {
	for text, want := range map[string]Target{
		"example.org:443": {"example.org", 443}, "1.2.3.4:80": {"1.2.3.4", 80}, "[2a00::1]:8080": {"2a00::1", 8080},
		"xn--bcher-kva.example.:1": {"xn--bcher-kva.example.", 1}, "under_score:65535": {"under_score", 65535},
	} {
		got, err := ParseTarget(text)
		if err != nil || got != want {
			t.Errorf("%q is %v, %v", text, got, err)
		}
		if again, err := ParseTarget(got.String()); err != nil || again != got {
			t.Errorf("%v written and read again is %v, %v", got, again, err)
		}
	}
}

func TestTargetsThatAreNone(t *testing.T) {
	for _, text := range []string{
		"", ":", "a", "a:", ":80", "a:0", "a:65536", "a:-1", "a:+1", "a:8a", "a b:80", "a\x00:80", "[a]:80", "[1.2.3.4]:80", "2a00::1:80", "[fe80::1%eth0]:80",
		"a..b:80", ".a:80", "a/b:80", "u@a:80", "bücher.example:80", "[::1:80", strings.Repeat("a", 254) + ":80",
	} {
		if got, err := ParseTarget(text); !errors.Is(err, ErrTarget) {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
}

// FuzzTarget: what is a target, net and net/url take for the same host and port; and
// what they take for an address with a port is a target.
func FuzzTarget(f *testing.F) {
	for _, seed := range []string{"example.org:443", "[::1]:80", "1.2.3.4:1", "a:b", "[::ffff:1.2.3.4]:443", "[fe80::1%25a]:1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseTarget(text)
		if a, addrErr := netip.ParseAddrPort(text); err != nil {
			if addrErr == nil && a.Port() != 0 && a.Addr().Zone() == "" {
				t.Fatalf("%q is an address and no target", text)
			}
			return
		}
		host, port, splitErr := net.SplitHostPort(text)
		n, portErr := strconv.Atoi(port)
		if splitErr != nil || portErr != nil || host != got.Host || n != int(got.Port) {
			t.Fatalf("%q: net says %q %q, we %v", text, host, port, got)
		}
		u, urlErr := url.Parse("http://" + text)
		if urlErr != nil || u.Host != text || u.Hostname() != got.Host || u.Path != "" || u.User != nil {
			t.Fatalf("%q: net/url says %v, %v", text, u, urlErr)
		}
	})
}
