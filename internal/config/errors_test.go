package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestErrors: each bad input is told in one line with its place, field, value and remedy.
func TestErrors(t *testing.T) {
	for _, test := range []struct {
		name, file, env string
		want            string // with FILE for the file
	}{
		{"unknown key", "flush: 1s\n", "", `FILE:1: flush is no setting; the settings are config, `},
		{"misspelt key", "\nbindAdress: ::1\n", "", `FILE:2: bindAdress is no setting; did you mean "bindAddress"?`},
		{"misspelt group", "feature:\n  xbackend: true\n", "", `FILE:1: feature is no setting; `},
		{"twice", "stateDir: a\nstateDir: b\n", "", `FILE:2: stateDir is already set in line 1; keep one of them`},
		{"not a mapping", "- a\n", "", `FILE:1: must be a mapping of settings, for example "adminAddress: 127.0.0.1:19000"`},
		{"group not a mapping", "features: true\n", "", `FILE:1: features. "true" must be a mapping of settings`},
		{"value not plain", "stateDir: {a: b}\n", "", `FILE:1: stateDir must have a plain value`},
		{"value missing", "stateDir:\n", "", `FILE:1: stateDir must have a plain value`},
		{"list for one", "stateDir: [a]\n", "", `FILE:1: stateDir must have a plain value`},
		{"not YAML", "a: [b\n", "", `FILE: is not YAML: `},
		{"two documents", "stateDir: a\n---\nstateDir: b\n", "", `FILE: has more than one document; keep all settings in one`},
		{"alias", "stateDir: &a x\nenvoy: *a\n", "", `FILE:2: envoy must have a plain value`},
		{"boolean", "keepProxies: yes please\n", "", `FILE:1: keepProxies "yes please" must be true or false`},
		{"port", "", "GATEHOUSE_ADMIN_ADDRESS=127.0.0.1:99999", `$GATEHOUSE_ADMIN_ADDRESS: adminAddress "127.0.0.1:99999" has port "99999"; it must be a number from 0 to 65535`},
		{"address", "", "GATEHOUSE_METRICS_ADDRESS=19001", `$GATEHOUSE_METRICS_ADDRESS: metricsAddress "19001" must be HOST:PORT`},
		{"bind", "bindAddress: localhost\n", "", `FILE:1: bindAddress "localhost" must be an IP address`},
		{"controller", "controllerName: gatehouse\n", "", `FILE:1: controllerName "gatehouse" must be a domain and a path`},
		{"duration", "drainTimeout: 2h\n", "", `FILE:1: drainTimeout "2h" must be a duration from 0s to 1h`},
		{"bytes", "xdsMaxReceiveBytes: 64MiB\n", "", `FILE:1: xdsMaxReceiveBytes "64MiB" must be a number of bytes from 4194304 to 2147483647`},
		{"fail mode of no class", "failMode: keys=close\n", "", `FILE:1: failMode "keys=close" has "keys=close"; must be class=mode pairs with each of the classes certificates, cas,`},
		{"fail mode twice", "failMode: cas=close,cas=retain\n", "", `FILE:1: failMode "cas=close,cas=retain" has "cas=retain"; must be class=mode pairs with each of the classes`},
		{"no fail mode", "failMode: access=open\n", "", `FILE:1: failMode "access=open" has mode "open" for access; must be retain or close`},
		{"few bytes", "xdsMaxReceiveBytes: 4194303\n", "", `FILE:1: xdsMaxReceiveBytes "4194303" must be a number of bytes from 4194304`},
		{"prover", "prover: maybe\n", "", `FILE:1: prover "maybe" must be one of require, prefer, off`},
		{"format", "log: {format: xml}\n", "", `FILE:1: log.format "xml" must be one of text, json`},
		{"same address", "metricsAddress: 127.0.0.1:19000\n", "", `settings: metricsAddress "127.0.0.1:19000" is also adminAddress; give each its own port`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := load(t, test.file, []string{test.env}, nil)
			if err == nil {
				t.Fatalf("loaded %+v", got.Run)
			}
			line := err.Error()
			if i := strings.Index(line, "gatehouse.yaml"); i > 0 {
				line = "FILE" + line[i+len("gatehouse.yaml"):]
			}
			if !strings.HasPrefix(line, test.want) || strings.Contains(line, "\n") {
				t.Errorf("got  %s\nwant %s", line, test.want)
			}
		})
	}
}

func TestAllErrorsAtOnce(t *testing.T) {
	_, err := load(t, "bindAddress: x\nnope: 1\n", []string{"GATEHOUSE_LOG_LEVEL=loud"}, map[string][]string{"drain-timeout": {"x"}})
	if n := len(strings.Split(err.Error(), "\n")); n != 4 {
		t.Errorf("%d lines, want 4:\n%v", n, err)
	}
}

func TestFilesThatAreNone(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.yaml")
	if err := os.WriteFile(large, make([]byte, maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none.yaml"): "cannot be read: no such file or directory; name an existing YAML file",
		dir:                             "is no regular file; name a YAML file (directories of objects go to --config)",
		large:                           "is larger than 1048576 bytes",
	} {
		_, err := Load(Source{Environ: home, File: path})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", path, err, want)
		}
	}
}

func TestWatchWantsExistingPaths(t *testing.T) {
	for value, want := range map[string]string{
		"":         "--config: is missing: name the file or directory of Gateway API objects to serve",
		"/nowhere": `$GATEHOUSE_CONFIG: config "/nowhere" cannot be watched: no such file or directory; name an existing file or directory`,
	} {
		_, err := Load(Source{Environ: []string{"HOME=/h", "GATEHOUSE_CONFIG=" + value}, Watch: true})
		if err == nil || err.Error() != want {
			t.Errorf("config %q: error %v, want %q", value, err, want)
		}
	}
}

func TestWarnings(t *testing.T) {
	for env, want := range map[string]string{
		"GATEHOUSE_ADMIN_ADDRESS=0.0.0.0:19000":     `adminAddress "0.0.0.0:19000" is not a loopback address`,
		"GATEHOUSE_ADMIN_ADDRESS=:19000":            `adminAddress ":19000" is not a loopback address`,
		"GATEHOUSE_ADMIN_ADDRESS=10.1.2.3:1":        `adminAddress "10.1.2.3:1" is not a loopback address`,
		"GATEHOUSE_ADMIN_ADDRES=127.0.0.1:1":        "environment variable GATEHOUSE_ADMIN_ADDRES is no setting and has no effect; did you mean GATEHOUSE_ADMIN_ADDRESS?",
		"GATEHOUSE_ADMIN_ADDRESS=[::1]:19000":       "",
		"GATEHOUSE_ADMIN_ADDRESS=localhost:0":       "",
		"GATEHOUSE_SOMETHING_ELSE_ENTIRELY=of mine": "",
	} {
		got, err := load(t, "", []string{env}, nil)
		all := strings.Join(got.Warnings, "\n")
		if err != nil || want == "" && all != "" || !strings.HasPrefix(all, want) {
			t.Errorf("%s: warnings %q, %v; want %q", env, all, err, want)
		}
	}
}
