package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// buildTimeout covers a cold build with the race detector.
const buildTimeout = 8 * time.Minute

// TestMain builds gatehouse once, with the race detector when the tests have it,
// and names it to the tests by an environment variable; one that is named there
// already is tested as it is.
func TestMain(m *testing.M) {
	run := build
	if os.Getenv(binaryVariable) != "" {
		run = func(run func() int) (int, error) { return run(), nil }
	}
	code, err := run(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func build(run func() int) (code int, err error) {
	dir, err := os.MkdirTemp("", "gatehouse-e2e-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	path := filepath.Join(dir, "gatehouse")
	args := []string{"build", "-o", path}
	if raceEnabled {
		args = append(args, "-race")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "github.com/gatehouse-proxy/gatehouse/cmd/gatehouse")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build gatehouse: %w\n%s", err, out)
	}
	if err := os.Setenv(binaryVariable, path); err != nil {
		return 0, err
	}
	return run(), nil
}

// binaryVariable names the binary that the tests run.
const binaryVariable = "GATEHOUSE_E2E_BINARY"
