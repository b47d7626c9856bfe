package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
)

// fleetOf loads a fleet's configuration from flags and variables.
func fleetOf(flags map[string]string, environ ...string) (LoadedFleet, error) {
	return LoadFleet(Source{Environ: append([]string{"HOME=/home/user"}, environ...), Flag: func(name string) ([]string, bool) {
		v, ok := flags[name]
		return []string{v}, ok
	}})
}

func TestFleetDefaults(t *testing.T) {
	dir := t.TempDir()
	loaded, err := fleetOf(map[string]string{"config": dir})
	if err != nil {
		t.Fatal(err)
	}
	f := loaded.Fleet
	if f.StateDir != "/home/user/.local/state/gatehouse-fleet" || f.Config != dir || f.InCluster() {
		t.Errorf("state %s, config %s", f.StateDir, f.Config)
	}
	if len(f.Providers) != 1 || f.Providers[0] != "process" || f.MaxUnavailable != (lifecycle.Budget{Percent: 10}) || f.Rate("gcp") != 20 || f.Rate("hetzner") != 1 {
		t.Errorf("providers %v, budget %v, rates %v and %v", f.Providers, f.MaxUnavailable, f.Rate("gcp"), f.Rate("hetzner"))
	}
	if f.GC.Interval != 10*time.Minute || f.GC.MinAge != 10*time.Minute || f.AdminAddress != "127.0.0.1:19030" || f.MetricsAddress != "127.0.0.1:19031" {
		t.Errorf("%+v", f)
	}
	if len(loaded.Warnings) != 1 || !strings.HasPrefix(loaded.Warnings[0], `--lease-address "127.0.0.1:8090" asks for no token:`) {
		t.Errorf("warnings %q", loaded.Warnings)
	}
}

func TestFleetOfAClusterMakesPods(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(kubeconfig, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := fleetOf(map[string]string{"kubeconfig": kubeconfig}, "POD_NAMESPACE=egress")
	if err != nil {
		t.Fatal(err)
	}
	if f := loaded.Fleet; !f.InCluster() || len(f.Providers) != 1 || f.Providers[0] != "kubernetes" || f.Kubernetes.Namespace != "egress" {
		t.Errorf("%+v", f)
	}
}

// TestAPodHasNoHome, and a fleet of a directory must be told where its state is.
func TestAPodHasNoHome(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(kubeconfig, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	homeless := func(flags map[string]string) error {
		_, err := LoadFleet(Source{Flag: func(name string) ([]string, bool) { v, ok := flags[name]; return []string{v}, ok }})
		return err
	}
	if err := homeless(map[string]string{"kubeconfig": kubeconfig}); err != nil {
		t.Error(err)
	}
	if err := homeless(map[string]string{"config": t.TempDir()}); err == nil || !strings.Contains(err.Error(), "--state-dir: is empty, and there is no home directory") {
		t.Error(err)
	}
}

// TestFleetTellsAllErrorsAtOnce: each line names the flag, the value and the remedy.
func TestFleetTellsAllErrorsAtOnce(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		flags map[string]string
		env   []string
		want  []string
	}{
		"nothing": {nil, nil, []string{"--config: is missing: name the directory"}},
		"values": {map[string]string{
			"config": dir, "providers": "aws", "max-unavailable": "0%", "provider-rate": "0", "gc-interval": "0s", "gc-min-age": "soon",
			"gc-dry-run": "perhaps", "admin-address": "19030", "metrics-address": ":http", "process-network": "true", "forward-url": "ftp://x",
			"forward-sha256": "abc", "gcp-project": "My Project", "watch-namespaces": "A B", "log-level": "loud", "hetzner-endpoint": "https://me:secret@example.com",
		}, nil, []string{
			`--providers: "aws" must be names with commas between them, of gcp, hetzner, kubernetes, process`,
			`--max-unavailable: "0%" must be a number from 1, or a percentage from 1% to 100%`,
			`--provider-rate: "0" must be a number of requests from 1 to 10000`,
			`--gc-interval: "0s" must be a duration from 1s to 24h, for example 10m`,
			`--gc-min-age: "soon" must be a duration`, `--gc-dry-run: "perhaps" must be true or false`,
			`--admin-address: "19030" must be HOST:PORT`, `--metrics-address: ":http" has port "http"`,
			`--process-network: "true" must be one of on, off`, `--forward-url: "ftp://x" must be a URL`,
			`--forward-sha256: "abc" must be 64 hexadecimal digits`, `--gcp-project: "My Project" must be a project's ID`, `--watch-namespaces: "A B" must be names of namespaces`,
			`--hetzner-endpoint: has a user in it`, `--log-level: "loud" must be one of`,
		}},
		"no directory":         {map[string]string{"config": "/nowhere"}, nil, []string{`--config: "/nowhere" cannot be watched: no such file or directory; name an existing directory`}},
		"a file":               {map[string]string{"config": "/dev/null"}, nil, []string{`--config: "/dev/null" is no directory`}},
		"state inside":         {map[string]string{"config": dir, "state-dir": dir + "/state"}, nil, []string{"--state-dir:", "lies inside --config"}},
		"both sources":         {map[string]string{"config": dir, "kubeconfig": "/nowhere"}, nil, []string{"--kubeconfig: contradicts --config", "does not exist"}},
		"no kubeconfig":        {map[string]string{"kubeconfig": "/nowhere"}, nil, []string{`--kubeconfig: "/nowhere" does not exist`}},
		"one port":             {map[string]string{"config": dir, "admin-address": "127.0.0.1:1", "metrics-address": "127.0.0.1:1"}, nil, []string{`--metrics-address: "127.0.0.1:1" is also --admin-address`}},
		"pods without":         {map[string]string{"config": dir, "providers": "kubernetes"}, nil, []string{"makes pods for Proxies of a cluster"}},
		"download half":        {map[string]string{"config": dir, "forward-url": "https://example.com/f"}, nil, []string{"--forward-sha256: is missing"}},
		"download in clear":    {map[string]string{"config": dir, "forward-url": "http://example.com/f", "forward-sha256": strings.Repeat("ab", 32)}, nil, []string{`--forward-url: "http://example.com/f" is no https URL`}},
		"checksum alone":       {map[string]string{"config": dir, "forward-sha256": strings.Repeat("ab", 32)}, nil, []string{"--forward-url: is missing"}},
		"short lease":          {map[string]string{"kubeconfig": "/dev/null", "lease-duration": "1s"}, nil, []string{`--lease-duration: "1s" must be a duration from 3s to 10m, for example 10m`}},
		"no program":           {map[string]string{"config": dir, "forward-binary": "/nowhere"}, nil, []string{`--forward-binary: "/nowhere" does not exist`}},
		"variable":             {map[string]string{"config": dir}, []string{"GATEHOUSE_FLEET_PROVIDER_RATE=x"}, []string{`$GATEHOUSE_FLEET_PROVIDER_RATE: "x" must be`}},
		"no directory of ours": {map[string]string{"config": ""}, nil, []string{"--config: is empty"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := fleetOf(c.flags, c.env...)
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in\n%v", want, err)
				}
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("tells a secret: %v", err)
			}
		})
	}
}

func TestFleetWarnsOfWhatHasNoEffect(t *testing.T) {
	loaded, err := fleetOf(map[string]string{
		"config": t.TempDir(), "gcp-project": "my-project", "gc-allow-namespaced": "true", "admin-address": "0.0.0.0:19030",
	}, "GATEHOUSE_FLEET_PROVIDER_RAT=3")
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(loaded.Warnings, "\n")
	for _, want := range []string{"--gcp-project has no effect", "--gc-allow-namespaced has no effect", "not a loopback address", "did you mean GATEHOUSE_FLEET_PROVIDER_RATE?"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
}
