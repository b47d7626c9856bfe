package config

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var home = []string{"HOME=/home/ann"}

// load loads from a file with the text, if there is any, an environment, and flags.
func load(t *testing.T, text string, environ []string, flags map[string][]string) (Loaded, error) {
	t.Helper()
	src := Source{Environ: append(slices.Clone(home), environ...), Flag: func(name string) ([]string, bool) {
		v, ok := flags[name]
		return v, ok
	}}
	if text != "" {
		src.File = filepath.Join(t.TempDir(), "gatehouse.yaml")
		if err := os.WriteFile(src.File, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Load(src)
}

func TestDefaults(t *testing.T) {
	got, err := load(t, "", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Run{
		ControllerName: "gatehouse.dev/gateway-controller", BindAddress: netip.MustParseAddr("127.0.0.1"),
		AdminAddress: "127.0.0.1:19000", MetricsAddress: "127.0.0.1:19001",
		StateDir: "/home/ann/.local/state/gatehouse", DrainTimeout: 5 * time.Second,
		Prover: ProverPreferred, XDSMaxReceiveBytes: 64 << 20,
		Features: Features{XBackend: true}, LogLevel: "info",
	}
	if diff := cmp.Diff(want, got.Run, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	if len(got.Given) > 0 || len(got.Warnings) > 0 {
		t.Errorf("given %v, warnings %v; want none", got.Given, got.Warnings)
	}
}

func TestFlagBeatsEnvironmentBeatsFile(t *testing.T) {
	file := "drainTimeout: 1s\nlog:\n  level: debug\n  format: json\n"
	environ := []string{"GATEHOUSE_DRAIN_TIMEOUT=2s", "GATEHOUSE_LOG_LEVEL=warn"}
	got, err := load(t, file, environ, map[string][]string{"drain-timeout": {"3s"}})
	if err != nil {
		t.Fatal(err)
	}
	if got.Run.DrainTimeout != 3*time.Second || got.Run.LogLevel != "warn" || !got.Run.LogJSON {
		t.Errorf("drain %v from the flag, level %q from the environment, JSON %v from the file",
			got.Run.DrainTimeout, got.Run.LogLevel, got.Run.LogJSON)
	}
	want := []string{"--drain-timeout", "$GATEHOUSE_LOG_LEVEL"}
	for i, from := range want {
		if got.Given[i].From != from {
			t.Errorf("given[%d] is from %q, want %q", i, got.Given[i].From, from)
		}
	}
}

func TestStateDirectoryFollowsXDG(t *testing.T) {
	for state, want := range map[string]string{
		"/var/state": "/var/state/gatehouse",
		"relative":   "/home/ann/.local/state/gatehouse",
		"":           "/home/ann/.local/state/gatehouse",
	} {
		got, err := load(t, "", []string{"XDG_STATE_HOME=" + state}, nil)
		if err != nil || got.Run.StateDir != want {
			t.Errorf("XDG_STATE_HOME=%q gives %q, %v; want %q", state, got.Run.StateDir, err, want)
		}
	}
}

func TestNoHomeAsksForAStateDirectory(t *testing.T) {
	_, err := Load(Source{})
	want := "default: stateDir is empty; give a value or leave the setting out"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
}

func TestPathsOfAFileAreRelativeToIt(t *testing.T) {
	got, err := load(t, "config: [objects, /etc/objects]\nstateDir: state\n", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(got.Run.Paths[0])
	if !filepath.IsAbs(dir) || got.Run.Paths[1] != "/etc/objects" || got.Run.StateDir != filepath.Join(dir, "state") {
		t.Errorf("paths %q, state %q", got.Run.Paths, got.Run.StateDir)
	}
}

func TestListsFromTheEnvironmentSplitLikePATH(t *testing.T) {
	got, err := load(t, "", []string{"GATEHOUSE_CONFIG=a:b/../a:c"}, nil)
	if want := []string{"a", "c"}; err != nil || !slices.Equal(got.Run.Paths, want) {
		t.Errorf("paths %q, %v; want %q, each once", got.Run.Paths, err, want)
	}
}

func TestOnlyLooksAtNothingElse(t *testing.T) {
	got, err := Load(Source{
		Environ: []string{"HOME=/home/ann", "GATEHOUSE_DRAIN_TIMEOUT=soon", "GATEHOUSE_ADMIN_ADDRESS=127.0.0.1:7"},
		Only:    []string{"adminAddress"},
	})
	if err != nil || got.Run.AdminAddress != "127.0.0.1:7" {
		t.Errorf("admin address %q, %v", got.Run.AdminAddress, err)
	}
}

func TestSettingsAreDocumentedAndDistinct(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Settings() {
		if s.Usage == "" || seen[s.Key] || seen[s.Flag] || seen[s.Env] {
			t.Errorf("%s: usage %q; its key, flag or variable is there twice", s.Key, s.Usage)
		}
		seen[s.Key], seen[s.Flag], seen[s.Env] = true, true, true
	}
}

func TestErrorsCanBeAsked(t *testing.T) {
	_, err := load(t, "drainTimeout: never\n", nil, nil)
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Field != "drainTimeout" || e.Value != "never" || e.From == "" || e.Problem == "" {
		t.Errorf("error %#v", err)
	}
}

func TestFailModes(t *testing.T) {
	got, err := load(t, "failMode: cas=close,deletions=close\n", nil, nil)
	if want := (FailModes{CAs: true, Deletions: true}); err != nil || got.Run.FailModes != want {
		t.Errorf("fail modes %+v, %v; want %+v", got.Run.FailModes, err, want)
	}
}
