package pods

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/test/cluster"
)

// binary is gatehouse-forward as it is released.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "gatehouse-pods-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := cluster.EndShared(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func build(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	binary = filepath.Join(dir, "gatehouse-forward")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, "github.com/gatehouse-proxy/gatehouse/cmd/gatehouse-forward")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build gatehouse-forward: %w\n%s", err, out)
	}
	return nil
}

// eventually is more than what a busy machine needs.
const eventually = 2 * time.Minute

// until waits until check returns nil.
func until(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	cluster.Until(t, eventually, what, check)
}
