// Package proxytest holds every real proxy of the laboratory to the contract of
// package proxy: it runs the real program in a leg of its own, in front of real
// backends, and tells a test what does not hold. It is for tests only.
package proxytest

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/arena/arenatest"
)

// Role makes the test binary one of the programs that the product's binary can be. It
// ends with its context, and returns the exit code.
type Role func(ctx context.Context, args []string) int

// Main runs the tests of a package in a leg, or plays the role that the first argument
// names, and returns the exit code.
func Main(m *testing.M, roles map[string]Role) int {
	if len(os.Args) > 1 && roles[os.Args[1]] != nil {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		return roles[os.Args[1]](ctx, os.Args[1:])
	}
	return arenatest.Main(m)
}
