package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/arena"
)

// kinds are the namespaces that every leg has for itself.
var kinds = []string{"net", "pid", "mnt", "ipc"}

// namespaces are names like "net:[4026532000]", by kind.
type namespaces map[string][]string

// namespacesOf returns those of processes that are not this one's own.
func namespacesOf(t *testing.T, processes map[int]string) namespaces {
	t.Helper()
	found := namespaces{}
	for _, kind := range kinds {
		own, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil {
			t.Fatal(err)
		}
		for pid := range processes {
			name, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, kind))
			if err == nil && name != own && !slices.Contains(found[kind], name) {
				found[kind] = append(found[kind], name)
			}
		}
	}
	return found
}

// holders returns what keeps one of these namespaces alive: a thread that lives in it,
// a file that is open on it, or a mount of it. Other namespaces of the machine belong to
// others, who may come and go meanwhile.
func holders(t *testing.T, of namespaces) []string {
	t.Helper()
	var left []string
	for _, pattern := range []string{"/proc/[0-9]*/task/*/ns/*", "/proc/[0-9]*/fd/*"} {
		links, err := filepath.Glob(pattern)
		if err != nil || len(links) == 0 {
			t.Fatalf("no %s: %v", pattern, err)
		}
		for _, link := range links {
			name, err := os.Readlink(link)
			if err != nil {
				continue // it has ended
			}
			if kind, _, _ := strings.Cut(name, ":"); slices.Contains(of[kind], name) {
				left = append(left, link+" "+name)
			}
		}
	}
	tables, _ := filepath.Glob("/proc/[0-9]*/mountinfo")
	for _, path := range tables {
		table, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		for _, names := range of {
			for _, name := range names {
				if strings.Contains(string(table), " "+name+" ") {
					left = append(left, path+" "+name)
				}
			}
		}
	}
	return left
}

// ended waits until nothing holds any of these namespaces, so that the kernel has ended
// them with their networks and mounts. A leg whose parent was killed is this process's
// child by then, and stays until it is waited for.
func ended(t *testing.T, of namespaces) {
	t.Helper()
	var left []string
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); <-tick.C {
		if left = holders(t, of); len(left) == 0 {
			return
		}
		for _, holder := range left {
			var pid int
			if _, err := fmt.Sscanf(holder, "/proc/%d/", &pid); err == nil {
				_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
			}
		}
	}
	t.Errorf("namespaces are left: %v", left)
}

func mountsHere(t *testing.T) string {
	t.Helper()
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	return string(table)
}

// A namespace that is left is found, by who lives in it and by who has it open.
func TestNamespacesThatAreLeftAreFound(t *testing.T) {
	cmd := arena.Command(t.Context(), "sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Cleanup(stop)
	of := namespacesOf(t, map[int]string{cmd.Process.Pid: "sleep"})
	for _, kind := range kinds {
		if len(of[kind]) != 1 {
			t.Fatalf("namespaces: %v, want one of each kind", of)
		}
	}
	file, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	found := func(part string) bool {
		return slices.ContainsFunc(holders(t, of), func(h string) bool { return strings.Contains(h, part) })
	}
	for _, kind := range kinds {
		if pid := strconv.Itoa(cmd.Process.Pid); !found("/proc/" + pid + "/task/" + pid + "/ns/" + kind) {
			t.Errorf("nobody is found in %v", of[kind])
		}
	}
	stop()
	if left := holders(t, of); len(left) != 1 || !strings.Contains(left[0], "/fd/") {
		t.Errorf("found %v, want the open file", left)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	ended(t, of)
}
