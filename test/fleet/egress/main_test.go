package egress

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// binary is gatehouse, with gatehouse-forward beside it.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "egress")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func build(dir string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	if binary, err = rig.Build(ctx, dir); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(dir, "gatehouse-forward"), "github.com/gatehouse-proxy/gatehouse/cmd/gatehouse-forward").CombinedOutput()
	if err != nil {
		return fmt.Errorf("build gatehouse-forward: %w\n%s", err, out)
	}
	return nil
}
