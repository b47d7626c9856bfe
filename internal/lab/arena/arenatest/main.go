// Package arenatest runs the tests of a package inside the namespaces of a leg, so
// that they have the network to themselves, leave nothing behind, and can run twice at
// once. The test binary is the parent, the leg, and every backend.
//
//	func TestMain(m *testing.M) { os.Exit(arenatest.Main(m)) }
//
// It prints what the tests print, and never skips them.
package arenatest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/arena"
)

const (
	// self is the test binary, also for those who may not read its directory.
	self = "/proc/self/exe"
	// What it is: its first argument, and a variable that leaves the arguments to go test.
	backend = "arenatest-backend"
	inLeg   = "GATEHOUSE_ARENATEST_LEG"
)

// Backend returns the command of a backend, for [arena.Options].
func Backend() []string { return []string{self, backend} }

// Leg returns a command that runs the test binary in a leg of its own, with these
// arguments; there, [Main] enters the leg first. Its standard input must be a pipe.
func Leg(ctx context.Context, args ...string) *exec.Cmd {
	cmd := arena.Command(ctx, self, args...)
	cmd.Env = append(os.Environ(), inLeg+"=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd
}

// Main runs the tests of m in a leg and returns the exit code.
func Main(m *testing.M) int {
	var err error
	switch {
	case len(os.Args) == 2 && os.Args[1] == backend:
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		err = arena.ServeBackend(ctx, os.Stdin, os.Stdout)
	case os.Getenv(inLeg) != "":
		// What tests start is not in a new leg.
		if err = os.Unsetenv(inLeg); err == nil {
			_, err = arena.Enter()
		}
		if err == nil {
			arena.Live(os.Stdin)
			return m.Run()
		}
	default:
		return run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// run is the parent of the tests.
func run() int {
	cmd := Leg(context.Background(), os.Args[1:]...)
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Run()
		in.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the leg of the tests:", err)
		return 1
	}
	return 0
}
