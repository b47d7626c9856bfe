package tlsutil

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestEnvoyAgreesOnPairs: whatever CheckPair lets through, a real Envoy loads,
// and what it refuses Envoy would refuse too.
func TestEnvoyAgreesOnPairs(t *testing.T) {
	envoy := findEnvoy(t)
	for _, c := range pairCases(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			out, err := exec.CommandContext(ctx, envoy, "--mode", "validate", "--log-level", "warning", "--config-path", bootstrap(t, c)).CombinedOutput()
			if (err == nil) != (c.want == nil) {
				t.Errorf("CheckPair: %v; envoy: %v\n%s", CheckPair(c.cert, c.key), err, out)
			}
		})
	}
}

// findEnvoy finds the binary as "gatehouse run" does, without a dependency on it.
func findEnvoy(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{os.Getenv("GATEHOUSE_ENVOY"), filepath.Join(cache, "gatehouse", "envoy", "1.40.0", "envoy")} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	t.Fatal("no Envoy found in $GATEHOUSE_ENVOY or the cache: run \"make envoy\"")
	return ""
}

func bootstrap(t *testing.T, c pairCase) string {
	t.Helper()
	certificate := map[string]any{}
	for name, data := range map[string][]byte{"certificate_chain": c.cert, "private_key": c.key} {
		certificate[name] = map[string]any{"inline_bytes": data}
	}
	data, err := json.Marshal(map[string]any{"static_resources": map[string]any{"listeners": []any{map[string]any{
		"address": map[string]any{"socket_address": map[string]any{"address": "127.0.0.1", "port_value": 0}},
		"filter_chains": []any{map[string]any{
			"filters": []any{map[string]any{
				"name":         "envoy.filters.network.echo",
				"typed_config": map[string]any{"@type": "type.googleapis.com/envoy.extensions.filters.network.echo.v3.Echo"},
			}},
			"transport_socket": map[string]any{
				"name": "envoy.transport_sockets.tls",
				"typed_config": map[string]any{
					"@type":              "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
					"common_tls_context": map[string]any{"tls_certificates": []any{certificate}},
				},
			},
		}},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "bootstrap.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
