package envoytest

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// CPU returns what all threads of the running Envoy have used, to the nanosecond.
// It is from Linux's /proc/PID/task/TID/schedstat.
func (e *Envoy) CPU() time.Duration {
	e.t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", e.process.Process.Pid))
	if err != nil || len(threads) == 0 {
		e.t.Fatalf("Envoy has no threads: %v", err)
	}
	var sum time.Duration
	for _, path := range threads {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		var used time.Duration
		if _, err := fmt.Sscan(string(text), &used); err != nil {
			e.t.Fatalf("%s says %q: %v", path, text, err)
		}
		sum += used
	}
	return sum
}
