package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// envoys returns the process ids of the Envoys that are children of a process and serve.
func envoys(t *testing.T, parent int) []int {
	t.Helper()
	return slices.DeleteFunc(allEnvoys(t, parent), isProver)
}

// provers returns the process ids of the proving Envoys that are children of a process.
func provers(t *testing.T, parent int) []int {
	t.Helper()
	return slices.DeleteFunc(allEnvoys(t, parent), func(pid int) bool { return !isProver(pid) })
}

// isProver knows a proving Envoy by the directory of its bootstrap.
func isProver(pid int) bool {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // a process that has ended is none
	return strings.Contains(string(line), "/prover/proxies/")
}

func allEnvoys(t *testing.T, parent int) []int {
	t.Helper()
	var found []int
	paths := must(filepath.Glob("/proc/[0-9]*/stat"))(t)
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		name, rest, _ := strings.Cut(string(raw), ") ")
		fields := strings.Fields(rest)
		if len(fields) > 1 && fields[0] != "Z" && fields[1] == strconv.Itoa(parent) && strings.Contains(name, "envoy") {
			pid := must(strconv.Atoi(filepath.Base(filepath.Dir(path))))(t)
			found = append(found, pid)
		}
	}
	return found
}

// simple is one Gateway with one route to red.
func simple() map[string]string {
	return map[string]string{
		"base.yaml":    base,
		"gateway.yaml": gateway("edge", httpListener),
		"route.yaml":   route("only", "http", "only"+domain, `  - `+to("red")),
	}
}

// TestEnvoyKilledUnderLoad: it is started again by itself and gets everything anew.
func TestEnvoyKilledUnderLoad(t *testing.T) {
	s := start(t, simple())
	load := s.load(t, "only"+domain, 4)
	before := envoys(t, s.PID())
	if len(before) != 1 {
		t.Fatalf("gatehouse has %d Envoys, want 1", len(before))
	}
	if err := syscall.Kill(before[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.eventually(t, "another Envoy serves", func(ctx context.Context) error {
		now := envoys(t, s.PID())
		if len(now) != 1 || now[0] == before[0] {
			return fmt.Errorf("Envoys: %v", now)
		}
		return s.try(ctx, "only"+domain, try{from: "red"})
	})
	served := load.answered.Load()
	s.eventually(t, "the load is answered again", func(context.Context) error {
		if load.answered.Load() < served+100 {
			return errors.New("not yet")
		}
		return nil
	})
	load.stop()
	if n := load.wrong.Load(); n > 0 {
		t.Errorf("%d answers were from the wrong place", n)
	}
	s.waitState(t, "gateway", "e2e/edge", verdict.Serving)
}

// TestNoOrphanAfterCrash: Envoy dies with Gatehouse, and the next one takes over.
func TestNoOrphanAfterCrash(t *testing.T) {
	s := start(t, simple())
	left := allEnvoys(t, s.PID())
	s.Kill()
	s.inspect(t)
	waitGone(t, left)
	s.again(t)
	s.must(t, s.WaitReady)
	if err := s.try(t.Context(), "only"+domain, try{from: "red"}); err != nil {
		t.Error(err)
	}
}
