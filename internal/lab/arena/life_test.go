package arena_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/arena"
)

// What the test binary is, when it is neither test nor backend: a leg with children,
// and the parent of such a leg.
const (
	role       = "GATEHOUSE_ARENA_ROLE"
	roleParent = "parent"
	roleLeg    = "leg"
)

// sign is what a leg says of itself: its namespaces and where it put a file.
type sign struct {
	Namespaces []string
	File       string
	Err        string
}

// parent starts a leg, passes on what it says, and waits for it.
func parent() int {
	cmd := arena.Command(context.Background(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), role+"="+roleLeg)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Run()
		in.Close()
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// leg leaves a file and a process of another session, whose own parent has ended, and
// stays.
func leg() int {
	s, err := settle()
	if err != nil {
		s.Err = err.Error()
	}
	_ = json.NewEncoder(os.Stdout).Encode(s)
	arena.Live(os.Stdin)
	select {}
}

func settle() (s sign, err error) {
	dir, err := arena.Enter()
	if err != nil {
		return s, err
	}
	s.File = filepath.Join(dir, "left")
	if err := os.WriteFile(s.File, []byte("left"), 0o600); err != nil {
		return s, err
	}
	for _, kind := range []string{"net", "pid", "mnt", "ipc"} {
		name, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil {
			return s, err
		}
		s.Namespaces = append(s.Namespaces, name)
	}
	return s, exec.CommandContext(context.Background(), "sh", "-c", "setsid sleep 600 >/dev/null 2>&1 &").Run()
}

// TestNothingOutlivesALeg: neither when the leg is killed nor when its parent is.
func TestNothingOutlivesALeg(t *testing.T) {
	for _, test := range []struct {
		name   string
		victim func(parent int, leg string) int
	}{
		{"the leg is killed", func(_ int, leg string) int { return first(t, leg) }},
		{"the parent is killed", func(parent int, _ string) int { return parent }},
	} {
		t.Run(test.name, func(t *testing.T) {
			mounts := mountsHere(t)
			cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
			cmd.Env = append(os.Environ(), role+"="+roleParent)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var s sign
			if line, err := bufio.NewReader(out).ReadBytes('\n'); err != nil || json.Unmarshal(line, &s) != nil || s.Err != "" {
				t.Fatalf("the leg says %q: %v", line, err)
			}
			pid := s.Namespaces[1]
			if n := len(inhabitants(t, pid)); n != 2 {
				t.Fatalf("%d processes in the leg, want itself and what it left", n)
			}
			if err := syscall.Kill(test.victim(cmd.Process.Pid, pid), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err == nil {
				t.Error("the parent ended without an error")
			}
			for _, namespace := range s.Namespaces {
				empty(t, namespace)
			}
			if _, err := os.Stat(s.File); !os.IsNotExist(err) {
				t.Errorf("%s outside: %v", s.File, err)
			}
			if now := mountsHere(t); now != mounts {
				t.Errorf("mounts before: %s\nand after: %s", mounts, now)
			}
		})
	}
}

// first returns the process that is number 1 in a namespace.
func first(t *testing.T, namespace string) int {
	t.Helper()
	for _, pid := range inhabitants(t, namespace) {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(status)) {
			if numbers, ok := strings.CutPrefix(line, "NSpid:"); ok && strings.HasSuffix(strings.TrimSpace(numbers), "\t1") {
				return pid
			}
		}
	}
	t.Fatalf("nobody is the first in %s", namespace)
	return 0
}

// empty waits until nobody lives in a namespace, so that the kernel ends it.
func empty(t *testing.T, namespace string) {
	t.Helper()
	var left []int
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if left = inhabitants(t, namespace); len(left) == 0 {
			return
		}
		for _, pid := range left { // whose parent has ended are our children now
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		}
	}
	t.Errorf("%v still live in %s", left, namespace)
}

// inhabitants returns the processes in a namespace, until somebody has waited for them.
func inhabitants(t *testing.T, namespace string) (pids []int) {
	t.Helper()
	kind, _, _ := strings.Cut(namespace, ":")
	links, err := filepath.Glob("/proc/[0-9]*/ns/" + kind)
	if err != nil || len(links) == 0 {
		t.Fatal("no processes at all", err)
	}
	for _, link := range links {
		if name, err := os.Readlink(link); err == nil && name == namespace {
			pid, err := strconv.Atoi(strings.Split(link, "/")[2])
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

func mountsHere(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestWithoutRights: the same works for a user without any.
func TestWithoutRights(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.v", "-test.run=^(TestEnds|TestTriesInVain)$")
	cmd.Dir = "/"
	if canBeNobody(t) { // else we have no rights ourselves
		const nobody = 65534
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil || bytes.Count(out, []byte("\n--- PASS: ")) != 2 {
		t.Errorf("%v: %s", err, out)
	}
}

func canBeNobody(t *testing.T) bool {
	t.Helper()
	text, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		t.Fatal(err)
	}
	return slices.Equal(strings.Fields(string(text)), []string{"0", "0", "4294967295"})
}
