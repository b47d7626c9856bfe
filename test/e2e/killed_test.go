package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// TestKilledAtEveryStep: a controller that is killed at any step of a rejection serves,
// started again, what it served; with kept proxies no request fails in between.
func TestKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	for _, keep := range []bool{false, true} {
		t.Run(fmt.Sprintf("proxies are kept %v", keep), func(t *testing.T) {
			t.Parallel()
			var args []string
			if keep {
				args = []string{"--keep-proxies"}
			}
			s := startSteady(t, args...)
			if keep {
				t.Cleanup(func() { s.endAll(t) })
			}
			s.killAtEachStep(t, keep)
		})
	}
}

func (s *stage) killAtEachStep(t *testing.T, keep bool) {
	victim := func(rules string) string { return route("victim", "http", "victim"+domain, rules) }
	good, bad, repaired := victim(`  - `+to("green")), victim(badRules), victim(`  - `+to("blue"))
	s.write(t, "victim.yaml", good)
	s.serves(t, map[string]string{"victim": "green"})
	s.kept(t, "HTTPRoute e2e/victim")
	if keep {
		load := s.load(t, "steady"+domain, 2)
		defer func() {
			load.stop()
			if failed, wrong := load.failed.Load(), load.wrong.Load(); failed+wrong > 0 {
				t.Errorf("%d requests failed and %d went wrong of %d: %v", failed, wrong, load.answered.Load(), load.firstError())
			}
		}()
	}
	for _, step := range []struct {
		name   string
		until  func()
		serves string // the backend of victim after the restart
	}{
		{"before it", func() {}, "green"},
		{"just after the bad edit", func() { s.write(t, "victim.yaml", bad) }, "green"},
		{"after the rejection", func() { s.waitState(t, "httproute", "e2e/victim", verdict.Rejected) }, "green"},
		{"after a second restart with the bad edit", func() {}, "green"},
		{"just after the repair", func() { s.write(t, "victim.yaml", repaired) }, "blue"},
		{"after the release", func() { s.waitState(t, "httproute", "e2e/victim", verdict.Serving) }, "blue"},
	} {
		step.until()
		s.Kill()
		s.inspect(t)
		s.again(t)
		s.must(t, s.WaitReady)
		s.eventually(t, step.name+": the same is served", func(ctx context.Context) error {
			if err := s.try(ctx, "steady"+domain, try{from: "red"}); err != nil {
				return err
			}
			return s.try(ctx, "victim"+domain, try{from: step.serves})
		})
	}
}

// endAll ends the instance, and the proxies that outlive it: whoever started them, they
// run in its state directory.
func (s *stage) endAll(t *testing.T) {
	t.Helper()
	s.end(t)
	var kept []int
	for _, path := range must(filepath.Glob("/proc/[0-9]*/cmdline"))(t) {
		if line, _ := os.ReadFile(path); strings.Contains(string(line), s.state) { // a process that has ended is none
			kept = append(kept, must(strconv.Atoi(filepath.Base(filepath.Dir(path))))(t))
		}
	}
	if len(kept) == 0 {
		t.Error("no proxy outlived the last instance")
	}
	for _, pid := range kept {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	waitGone(t, kept)
}
