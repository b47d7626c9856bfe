// Package orphan finds processes that outlive whoever should have ended them: it
// makes the calling process the parent of every descendant whose own parent ends.
// Linux only; one user per process.
package orphan

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Adopt makes this process the parent of every descendant whose own parent ends,
// so that none escapes notice.
func Adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the reaper of orphans: %w", err)
	}
	return nil
}

// End reaps what ends by itself within the grace, kills the rest, and returns the
// command lines of those it had to kill. Every child of this process counts, so
// all that it waits for itself must have ended.
func End(grace time.Duration) []string {
	for deadline := time.Now().Add(grace); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		reap()
		if len(children()) == 0 {
			return nil
		}
	}
	var left []string
	for pid, command := range children() {
		left = append(left, fmt.Sprintf("%d %s", pid, command))
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	reap()
	return left
}

func reap() {
	for {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		if pid <= 0 || err != nil {
			return
		}
	}
}

// children returns the living children of this process with their command lines.
func children() map[int]string {
	found := make(map[int]string)
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		// pid (name) state ppid …; the name may hold spaces and parentheses.
		_, rest, _ := strings.Cut(string(raw[strings.LastIndexByte(string(raw), ')'):]), " ")
		fields := strings.Fields(rest)
		if len(fields) < 2 || fields[0] == "Z" || fields[1] != strconv.Itoa(os.Getpid()) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		found[pid] = strings.ReplaceAll(string(command), "\x00", " ")
	}
	return found
}
