package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

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
	var flags []string
	if raceEnabled {
		flags = []string{"-race"}
	}
	path, err := rig.Build(context.Background(), dir, flags...)
	if err != nil {
		return 0, err
	}
	if err := os.Setenv(binaryVariable, path); err != nil {
		return 0, err
	}
	return run(), nil
}

// binaryVariable names the binary that the tests run.
const binaryVariable = "GATEHOUSE_E2E_BINARY"
