package envoytest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	envoy_bootstrap_v3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	"google.golang.org/protobuf/encoding/protojson"
)

// checkTimeout bounds one run of Envoy's validation, which takes about 1 s.
const checkTimeout = 60 * time.Second

// Check asks Envoy whether it would start with a bootstrap, and returns what
// it says when it would not. It takes about a second whatever the size, so put
// as much into one bootstrap as belongs together.
func Check(t testing.TB, b *envoy_bootstrap_v3.Bootstrap) error {
	t.Helper()
	config := write(t, t.TempDir(), b)
	ctx, cancel := context.WithTimeout(t.Context(), checkTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, Binary(t), "--mode", "validate", "--config-path", config, "--log-level", "error")
	text, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("envoy refuses the configuration: %w: %s", err, strings.TrimSpace(string(text)))
	}
	return nil
}

// write puts a bootstrap into a file in the form that Envoy reads.
func write(t testing.TB, dir string, b *envoy_bootstrap_v3.Bootstrap) string {
	t.Helper()
	text, err := protojson.Marshal(b)
	if err != nil {
		t.Fatalf("encode bootstrap: %v", err)
	}
	path := filepath.Join(dir, "envoy.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatalf("write bootstrap: %v", err)
	}
	return path
}
