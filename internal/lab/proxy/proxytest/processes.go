package proxytest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// Processes returns the processes of the namespace that live, with their commands. The
// first, which runs the tests, is not among them.
func Processes(t testing.TB) map[int]string {
	t.Helper()
	alive := map[int]string{}
	for _, pid := range entries(t) {
		// "17 (name) S ..."; one that has ended meanwhile has no file any more.
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		name := strings.LastIndexByte(string(stat), ')')
		if err != nil || name < 0 || pid == 1 || strings.HasPrefix(string(stat[name:]), ") Z") {
			continue
		}
		alive[pid] = string(stat[:name+1])
	}
	return alive
}

// entries are the processes of the namespace that nobody has waited for, alive or not.
func entries(t testing.TB) []int {
	t.Helper()
	dir, err := os.ReadDir("/proc")
	must(t, err)
	var pids []int
	for _, entry := range dir {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// NothingLeft waits until no process lives that did not before.
func NothingLeft(t testing.TB, before map[int]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	for {
		left := Processes(t)
		maps.DeleteFunc(left, func(pid int, _ string) bool { return before[pid] != "" })
		if len(left) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			t.Errorf("left behind: %v", left)
			return
		case <-time.After(poll):
		}
	}
}

// cpu is what the trees of processes below some roots have spent.
func cpu(t testing.TB, roots []int) time.Duration {
	t.Helper()
	var spent time.Duration
	for _, root := range roots {
		var now unix.Timespec
		// The CPU clock of another process; see clock_getcpuclockid(3).
		must(t, unix.ClockGettime(int32(^root<<3|2), &now))
		children, err := proxy.Children(root)
		must(t, err)
		spent += time.Duration(now.Nano()) + cpu(t, children)
	}
	return spent
}
