package lab

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
	"github.com/gatehouse-proxy/gatehouse/test/orphan"
)

// Whatever ends a run in the middle, everything that it started is gone: processes,
// namespaces, temporary files.
func TestEndsInTheMiddle(t *testing.T) {
	for name, c := range map[string]struct {
		signal syscall.Signal
		says   string
	}{
		"Ctrl-C": {unix.SIGINT, "interrupted"},
		"term":   {unix.SIGTERM, "interrupted"},
		"kill":   {unix.SIGKILL, ""},
	} {
		t.Run(name, func(t *testing.T) {
			temp := t.TempDir()
			before, mounts := descendants(t), mountsHere(t)
			p := prepare(t, time.Minute, "--duration", "60s", "--proxies", "nginx,haproxy-reload,envoy-xds,gatehouse")
			p.Env = append(p.Env, "TMPDIR="+temp)
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			var legs namespaces
			within(t, time.Minute, "backends run in four legs", func() bool {
				all := descendants(t)
				legs = namespacesOf(t, all)
				return count(all, "lab backend") >= 4 && len(legs["net"]) == 4
			})
			for _, kind := range kinds {
				if n := len(legs[kind]); n != 4 {
					t.Errorf("%d %s namespaces of four legs", n, kind)
				}
			}
			if err := p.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			if err := p.Wait(); err == nil {
				t.Error("exit code 0")
			}
			if !strings.Contains(p.err.String(), c.says) || strings.Count(p.err.String(), "error:") > 1 {
				t.Errorf("standard error: %s", p.err.String())
			}
			gone(t, before)
			ended(t, legs)
			if now := mountsHere(t); now != mounts {
				t.Errorf("mounts before:\n%s\nand after:\n%s", mounts, now)
			}
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("left in the directory for temporary files: %v, %v", left, err)
			}
		})
	}
}

// descendants returns the command lines of all processes below this one, by id.
func descendants(t *testing.T) map[int]string {
	t.Helper()
	if err := orphan.Adopt(); err != nil { // what loses its parent stays below us
		t.Fatal(err)
	}
	found := map[int]string{}
	queue := []int{os.Getpid()}
	for len(queue) > 0 {
		children, _ := proxy.Children(queue[0]) // one that has ended has none
		queue = queue[1:]
		for _, pid := range children {
			command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if err != nil || len(command) == 0 { // ended, or a zombie
				continue
			}
			found[pid] = strings.ReplaceAll(string(command), "\x00", " ")
			queue = append(queue, pid)
		}
	}
	return found
}

func count(processes map[int]string, part string) int {
	n := 0
	for _, command := range processes {
		if strings.Contains(command, part) {
			n++
		}
	}
	return n
}

// gone waits until no process is below this one that was not there before.
func gone(t *testing.T, before map[int]string) {
	t.Helper()
	within(t, 10*time.Second, "everything is gone", func() bool {
		for pid := range descendants(t) {
			if _, old := before[pid]; !old {
				return false
			}
		}
		return true
	})
}

func within(t *testing.T, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(limit); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s; processes: %v", limit, what, descendants(t))
		}
	}
}
