package experiment

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// usage adds up CPU and memory of process trees, from /proc (proc(5)). A thread that
// ends between two readings keeps what it had at the first.
type usage struct {
	roots   func() []int
	threads map[string]time.Duration // by path below /proc
}

func newUsage(roots func() []int) *usage {
	return &usage{roots: roots, threads: map[string]time.Duration{}}
}

// cpu returns what all threads so far have spent. /proc/PID/task/TID/schedstat counts
// in nanoseconds, where /proc/PID/stat counts in hundredths of a second.
func (u *usage) cpu() time.Duration {
	for _, pid := range u.tree() {
		paths, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/schedstat")
		for _, path := range paths {
			if spent, ok := firstNumber(path); ok {
				u.threads[path] = time.Duration(spent)
			}
		}
	}
	var sum time.Duration
	for _, spent := range u.threads {
		sum += spent
	}
	return sum
}

// memory returns the proportional set size of all processes in bytes: a page that
// several share counts once.
func (u *usage) memory() int64 {
	var sum int64
	for _, pid := range u.tree() {
		rollup, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := bytes.Cut(rollup, []byte("\nPss:"))
		if fields := bytes.Fields(rest); len(fields) > 0 {
			kilobytes, _ := strconv.ParseInt(string(fields[0]), 10, 64)
			sum += kilobytes << 10
		}
	}
	return sum
}

// tree returns the roots and all their descendants.
func (u *usage) tree() []int {
	var all []int
	queue := u.roots()
	for len(queue) > 0 {
		pid := queue[0]
		queue = queue[1:]
		all = append(all, pid)
		children, _ := proxy.Children(pid) // one that has ended has none
		queue = append(queue, children...)
	}
	return all
}

func firstNumber(path string) (int64, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	field, _, _ := strings.Cut(string(text), " ")
	n, err := strconv.ParseInt(field, 10, 64)
	return n, err == nil
}
