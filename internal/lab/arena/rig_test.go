package arena_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/arena"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/arena/arenatest"
)

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case roleParent:
		os.Exit(parent())
	case roleLeg:
		os.Exit(leg())
	}
	os.Exit(arenatest.Main(m))
}

func newClock() func() lab.Moment {
	start := time.Now()
	return func() lab.Moment { return lab.Moment(time.Since(start)) }
}

// newArena returns an arena whose backends must not end by themselves.
func newArena(t *testing.T) *arena.Arena {
	t.Helper()
	return newSlowArena(t, 0)
}

func newSlowArena(t *testing.T, delay time.Duration) *arena.Arena {
	t.Helper()
	return newArenaAt(t, newClock(), delay)
}

func newArenaAt(t *testing.T, now func() lab.Moment, delay time.Duration) *arena.Arena {
	t.Helper()
	return open(t, arena.Options{
		Backend: arenatest.Backend(), Delay: delay, Now: now,
		Died: func(err error) { t.Error(err) },
	})
}

func open(t *testing.T, o arena.Options) *arena.Arena {
	t.Helper()
	a, err := arena.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func start(t *testing.T, a *arena.Arena, name, address string) {
	t.Helper()
	if err := a.StartBackend(t.Context(), name, netip.MustParseAddr(address)); err != nil {
		t.Fatal(err)
	}
}

func end(t *testing.T, a *arena.Arena, name string, how lab.End) {
	t.Helper()
	if err := a.EndBackend(name, how); err != nil {
		t.Fatal(err)
	}
}

// children returns the children of this process, until somebody has waited for them.
// Before that, a thread of theirs may keep sockets open.
func children(t *testing.T) (pids []int) {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(lists) == 0 {
		t.Fatal("the kernel does not tell children", err)
	}
	for _, path := range lists {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		for word := range strings.FieldsSeq(string(text)) {
			pid, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

// untilDead waits until this process has no child.
func untilDead(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for len(children(t)) > 0 {
		if time.Now().After(deadline) {
			t.Fatal("a child lives on")
		}
	}
}
