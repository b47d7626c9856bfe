package app

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A process on one processor has two for Go, unless it is told how many.
func TestSpareProcessor(t *testing.T) {
	if os.Getenv("GATEHOUSE_SPARE") != "" {
		spareProcessor()
		println("processors:", runtime.GOMAXPROCS(0))
		return
	}
	for given, want := range map[string]string{"": "processors: 2", "GOMAXPROCS=1": "processors: 1", "GOMAXPROCS=3": "processors: 3"} {
		c := exec.CommandContext(t.Context(), "taskset", "-c", oneProcessor(t), os.Args[0], "-test.run=^TestSpareProcessor$")
		c.Env = append(without(c.Environ(), "GOMAXPROCS="), "GATEHOUSE_SPARE=1")
		if given != "" {
			c.Env = append(c.Env, given)
		}
		if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("with %q: %s, %v; want %s", given, out, err, want)
		}
	}
}

// oneProcessor is the first that this process may run on.
func oneProcessor(t *testing.T) string {
	t.Helper()
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		t.Fatal(err)
	}
	n := 0
	for !allowed.IsSet(n) {
		n++
	}
	return strconv.Itoa(n)
}

func without(environment []string, name string) []string {
	return slices.DeleteFunc(environment, func(v string) bool { return strings.HasPrefix(v, name) })
}
