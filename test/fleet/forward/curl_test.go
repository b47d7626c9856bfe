package forward

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/credential"
)

// login is bob's, with everything that a URL must escape.
const login = "bob:s3cr%2Ft%3A%40"

// TestCurl: every way of curl to a proxy, for every kind of target, with credentials.
func TestCurl(t *testing.T) {
	tg, dir := newTarget(t), credentials(t)
	cert, key, ca := certificate(t)
	clear := start(t, small(), "--auth-dir", dir)
	secure := start(t, small(), "--auth-dir", dir, "--scheme", "https", "--tls-cert", cert, "--tls-key", key)
	instance := start(t, small(), "--auth-dir", withCertificate(t, cert, key), "--scheme", "https")
	large := start(t, []string{gatehouse, "forward"}, "--auth-dir", dir, "--scheme", "socks5")
	for name, by := range map[string][]string{
		"http":                {"--proxy", "http://" + login + "@" + clear.address},
		"http, challenged":    {"--proxy", "http://" + login + "@" + clear.address, "--proxy-anyauth"},
		"http, tunnel":        {"--proxy", "http://" + login + "@" + clear.address, "--proxytunnel"},
		"http 1.0":            {"--proxy1.0", login + "@" + clear.address, "--proxytunnel"},
		"https":               {"--proxy", "https://" + login + "@" + secure.address, "--proxy-cacert", ca},
		"https, challenged":   {"--proxy", "https://" + login + "@" + secure.address, "--proxy-cacert", ca, "--proxy-anyauth"},
		"https, as instances": {"--proxy", "https://" + login + "@" + instance.address, "--proxy-cacert", ca},
		"socks5":              {"--proxy", "socks5://" + login + "@" + clear.address},
		"socks5h":             {"--proxy", "socks5h://" + login + "@" + clear.address},
		"gatehouse forward":   {"--proxy", "socks5h://" + login + "@" + large.address},
		"http, no keepalive":  {"--proxy", "http://" + login + "@" + clear.address, "--header", "Connection: close"},
	} {
		t.Run(name, func(t *testing.T) { fetchAll(t, tg, by) })
	}
	tg.check(t)
}

// fetchAll gets pages, gets much and sends much, with and without TLS to the target.
func fetchAll(t *testing.T, tg *target, by []string) {
	t.Helper()
	by = append(by, "--cacert", tg.ca, "--write-out", " %{http_code}")
	for _, target := range []string{tg.http, tg.https} {
		if out, code := curl(t, nil, append(by, target+"/")...); code != 0 || out != page+" 200" {
			t.Errorf("%s: exit %d, %q", target, code, out)
		}
		if out, code := curl(t, nil, append(by, target+"/bulk")...); code != 0 || sumOf([]byte(strings.TrimSuffix(out, " 200"))) != sumOf(bulk()) {
			t.Errorf("%s/bulk: exit %d, %d bytes", target, code, len(out))
		}
		if out, code := curl(t, bulk(), append(by, "--data-binary", "@-", target+"/sum")...); code != 0 || out != sumOf(bulk())+" 200" {
			t.Errorf("%s/sum: exit %d, %q", target, code, out)
		}
	}
}

func TestCurlIsToldWhy(t *testing.T) {
	tg := newTarget(t)
	p := start(t, small(), "--auth-dir", credentials(t))
	for name, c := range map[string]struct {
		args []string
		out  string
		code int
	}{
		"http, no password":     {[]string{"--proxy", "http://" + p.address, tg.http}, "407 0", 0},
		"http, wrong password":  {[]string{"--proxy", "http://bob:x@" + p.address, tg.http}, "407 0", 0},
		"tunnel, no password":   {[]string{"--proxy", "http://" + p.address, tg.https}, "000 407", 56},
		"socks, wrong password": {[]string{"--proxy", "socks5h://bob:x@" + p.address, tg.http}, "000 0", 97},
		"socks, no password":    {[]string{"--proxy", "socks5h://" + p.address, tg.http}, "000 0", 97},
		"http, metadata":        {[]string{"--proxy", "http://" + login + "@" + p.address, "http://169.254.169.254/"}, "403 0", 0},
		"tunnel, mail":          {[]string{"--proxy", "http://" + login + "@" + p.address, "--proxytunnel", "http://127.0.0.1:25/"}, "000 403", 56},
		"socks, private":        {[]string{"--proxy", "socks5h://" + login + "@" + p.address, "http://10.0.0.1/"}, "000 0", 97},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"--output", os.DevNull, "--write-out", "%{http_code} %{http_connect}"}, c.args...)
			out, code := curl(t, nil, args...)
			if strings.ReplaceAll(out, " 000", " 0") != c.out || code != c.code {
				t.Errorf("exit %d, %q; want %d, %q", code, out, c.code, c.out)
			}
		})
	}
	if len(tg.sources) > 0 {
		t.Errorf("the target was asked: %v", tg.sources)
	}
}

// TestLeases: what a lease gets opens the instance that it is for, offline.
func TestLeases(t *testing.T) {
	tg, dir := newTarget(t), t.TempDir()
	key := []byte(strings.Repeat("k", credential.MinKey))
	if err := os.WriteFile(filepath.Join(dir, "lease-key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, small(), "--auth-dir", dir, "--instance", "px-1")
	for instance, want := range map[string]string{"px-1": "200", "px-2": "407"} {
		user, password := credential.Make(key, instance, "abc", inAnHour())
		out, _ := curl(t, nil, "--output", os.DevNull, "--write-out", "%{http_code}", "--proxy", "http://"+p.address, "--proxy-user", user+":"+password, tg.http)
		if out != want {
			t.Errorf("a lease of %s is answered %s", instance, out)
		}
	}
	if strings.Contains(p.output.String(), string(key)) {
		t.Error("the log has the key")
	}
}

// TestIPv6: clients and targets of IPv6, by address.
func TestIPv6(t *testing.T) {
	ln, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Fatal(err)
	}
	tg := serveOn(t, ln)
	cmd := start(t, small(), "--listen", "[::1]:0", "--egress-address", "")
	for _, by := range []string{"http://", "socks5h://", "socks5://"} {
		if out, code := curl(t, nil, "--proxy", by+cmd.address, "--globoff", tg); code != 0 || out != page {
			t.Errorf("by %s: exit %d, %q", by, code, out)
		}
	}
}
