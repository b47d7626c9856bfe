package schemathesis

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/discovery"
)

// clientsVariable names the clients to play, all of them where it says "all".
const clientsVariable = "GATEHOUSE_CLIENTS"

// players ask an API at a URL; foreign ones need what "make schemathesis" brings.
var players = []struct {
	name    string
	foreign bool
	serve   func(t *testing.T) (url string)
	play    func(t *testing.T, url string)
}{
	{name: "examples", serve: serve, play: examples},
	{name: "schemathesis", foreign: true, serve: serve, play: schemathesis("schemathesis.toml")},
	{name: "schemathesis-fleet", foreign: true, serve: fleet, play: schemathesis("fleet.toml")},
}

func TestLeaseAPI(t *testing.T) {
	names := strings.FieldsFunc(os.Getenv(clientsVariable), func(r rune) bool { return r == ',' })
	played := 0
	for _, p := range players {
		if slices.Contains(names, "all") || slices.Contains(names, p.name) || len(names) == 0 && !p.foreign {
			t.Run(p.name, func(t *testing.T) { p.play(t, p.serve(t)) })
			played++
		}
	}
	if played == 0 {
		t.Fatalf("$%s names no player: %q", clientsVariable, names)
	}
}

// examples asks for a lease by all examples of the description together.
func examples(t *testing.T, url string) {
	var description struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct{ Examples []any }
			}
		}
	}
	if err := json.Unmarshal(discovery.OpenAPI, &description); err != nil {
		t.Fatal(err)
	}
	body := map[string]any{}
	for name, property := range description.Components.Schemas["LeaseRequest"].Properties {
		if len(property.Examples) > 0 {
			body[name] = property.Examples[0]
		}
	}
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), "POST", url+"/v1/leases?wait=10s", strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if said, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusCreated || len(body) < 2 {
		t.Errorf("%s gets %s %s", text, resp.Status, said)
	}
}

// schemathesis plays all of its checks and phases.
func schemathesis(config string) func(t *testing.T, url string) {
	return func(t *testing.T, url string) { runSchemathesis(t, config, url) }
}

func runSchemathesis(t *testing.T, config, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	config, err := filepath.Abs(config)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, python(), "-B", "-m", "schemathesis.cli", "--config-file", config, "--no-color", "run", url+"/openapi.json",
		"--header", "Authorization: Bearer "+token, "--checks", "all", "--max-examples", "50", "--seed", "9", "--workers", "1",
		"--request-timeout", "60", "--generation-database", "none", "--suppress-health-check", "all")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "PYTHONPATH="+packages(t), "SCHEMATHESIS_HOOKS=", "NO_PROXY=127.0.0.1")
	cmd.WaitDelay = time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("it finds fault: %v\n%s", err, out)
	} else {
		t.Logf("%s", out)
	}
}

func python() string {
	if name := os.Getenv("PYTHON"); name != "" {
		return name
	}
	return "python3"
}

// packages is where hack/fetch-schemathesis.sh has put them.
func packages(t *testing.T) string {
	t.Helper()
	pins, err := os.ReadFile(filepath.Join("..", "..", "..", "hack", "schemathesis.txt"))
	if err != nil {
		t.Fatal(err)
	}
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(home, ".cache")
	}
	tag, err := exec.CommandContext(t.Context(), python(), "-c", `import sys; print("cp%d%d" % sys.version_info[:2], end="")`).Output()
	if err != nil {
		t.Fatal(err)
	}
	there := filepath.Join(cache, "gatehouse", "schemathesis", fmt.Sprintf("%s-%.8x", tag, sha256.Sum256(pins)))
	if _, err := os.Stat(there); err != nil {
		t.Fatalf("%v: run make schemathesis", err)
	}
	return there
}
