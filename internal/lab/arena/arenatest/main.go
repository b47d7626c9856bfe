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
	role        = "GATEHOUSE_ARENATEST" // the environment variable that says what to be
	roleLeg     = "leg"
	roleBackend = "backend"
)

// Backend returns the command of a backend, for [arena.Options].
func Backend() []string {
	return []string{"/usr/bin/env", role + "=" + roleBackend, self()}
}

// Leg returns a command that runs the test binary in a leg of its own, with these
// arguments; there, [Main] enters the leg first. Its standard input must be a pipe.
func Leg(ctx context.Context, args ...string) *exec.Cmd {
	cmd := arena.Command(ctx, self(), args...)
	cmd.Env = append(os.Environ(), role+"="+roleLeg)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd
}

// Main runs the tests of m in a leg and returns the exit code.
func Main(m *testing.M) int {
	var err error
	switch os.Getenv(role) {
	case roleBackend:
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		err = arena.ServeBackend(ctx, os.Stdin, os.Stdout)
	case roleLeg:
		// The programs that tests start are not legs.
		if err = os.Unsetenv(role); err == nil {
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

func self() string {
	path, err := os.Executable()
	if err != nil {
		panic(err) // no test can run
	}
	return path
}
