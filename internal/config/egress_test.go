package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// egressOf loads a super-proxy's configuration from flags and variables.
func egressOf(flags map[string]string, environ ...string) (LoadedEgress, error) {
	return LoadEgress(Source{Environ: environ, Flag: func(name string) ([]string, bool) {
		v, ok := flags[name]
		return []string{v}, ok
	}})
}

func TestEgressDefaults(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := egressOf(nil, "DISCOVERY_TOKEN=abc", "GATEHOUSE_EGRESS_TOKENS="+tokens)
	if err != nil {
		t.Fatal(err)
	}
	e := loaded.Egress
	if e.Listen != "127.0.0.1:3128" || e.LeaseAPI != "http://127.0.0.1:8090" || e.Token != "abc" || e.Tokens != tokens || e.AdminAddress != "127.0.0.1:19040" || e.MetricsAddress != "127.0.0.1:19041" {
		t.Errorf("%+v", e)
	}
	if e.MaxConnections != 8192 || e.ConnectTimeout != 15*time.Second || e.IdleTimeout != 5*time.Minute || e.DrainTimeout != 30*time.Second || !e.AllowPorts.Contains(443) || e.AllowPorts.Contains(22) {
		t.Errorf("%+v", e)
	}
	if len(loaded.Warnings) > 0 {
		t.Errorf("warnings %q", loaded.Warnings)
	}
}

// TestWhoMayUseASuperProxy: whoever has a token, or, if the operator says so, this machine.
func TestWhoMayUseASuperProxy(t *testing.T) {
	for name, c := range map[string]struct {
		flags          map[string]string
		warns, refuses string
	}{
		"nothing said":       {nil, "", "--tokens: is missing: name the file"},
		"everybody here":     {map[string]string{"allow-unauthenticated": "true"}, "lets everybody in who reaches 127.0.0.1:3128", ""},
		"everybody anywhere": {map[string]string{"allow-unauthenticated": "true", "listen": ":3128"}, "", `--listen: ":3128" is reached by other machines`},
		"both":               {map[string]string{"allow-unauthenticated": "true", "tokens": "/dev/null"}, "--allow-unauthenticated has no effect", ""},
		"no file":            {map[string]string{"tokens": "/nowhere"}, "", `--tokens: "/nowhere" does not exist`},
		"values": {
			map[string]string{
				"tokens": "/dev/null", "lease-api": "ftp://x", "allow-ports": "25", "connect-timeout": "0s", "max-connections": "0",
			}, "", "--lease-api",
		},
		"half of TLS": {map[string]string{"tokens": "/dev/null", "tls-cert": "/dev/null"}, "", "--tls-cert: \"/dev/null\" and --tls-key belong together"},
		"one port":    {map[string]string{"tokens": "/dev/null", "listen": "127.0.0.1:1", "metrics-address": "127.0.0.1:1"}, "", "is also --listen"},
		"a name":      {map[string]string{"tokens": "/dev/null", "listen": "proxy.example:3128"}, "", "must have an IP address"},
		"open admin":  {map[string]string{"tokens": "/dev/null", "admin-address": "0.0.0.0:19040"}, "is not a loopback address", ""},
	} {
		t.Run(name, func(t *testing.T) {
			loaded, err := egressOf(c.flags)
			if (err != nil) != (c.refuses != "") || err != nil && !strings.Contains(err.Error(), c.refuses) {
				t.Errorf("%v, want %s", err, c.refuses)
			}
			if warned := strings.Join(loaded.Warnings, "\n"); !strings.Contains(warned, c.warns) || c.warns == "" && warned != "" {
				t.Errorf("warned %q, want %s", warned, c.warns)
			}
		})
	}
}
