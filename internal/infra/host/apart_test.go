package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// An Envoy that is to be isolated reaches no network where a namespace can be made, and
// starts all the same where none can; it gets the priority and drain time that are asked for.
func TestIsolated(t *testing.T) {
	r := newRig(t)
	r.options.Isolated, r.options.Nice, r.options.DrainTime = true, 5, 3*time.Second
	r.start(t, gateway(edge))
	e := r.events.next(t, Ready)
	own, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", e.PID))
	if err != nil {
		t.Fatal(err)
	}
	ours, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	if isolated := own != ours; isolated != canIsolate(t) {
		t.Errorf("isolated: %t, and it could be: %t", isolated, canIsolate(t))
	}
	// The call returns 20 - nice.
	if priority, err := unix.Getpriority(unix.PRIO_PROCESS, e.PID); err != nil || priority != 20-5 {
		t.Errorf("priority %d, %v", 20-priority, err)
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", e.PID))
	if err != nil || !strings.Contains(string(line), "--drain-time-s\x003\x00") {
		t.Errorf("arguments %q, %v", line, err)
	}
}

// canIsolate tries with the least that can be tried.
func canIsolate(t *testing.T) bool {
	t.Helper()
	command := exec.CommandContext(t.Context(), "true")
	command.SysProcAttr = way{isolated: true}.attributes(nil)
	command.SysProcAttr.Pdeathsig = 0
	err := command.Run()
	if err != nil && !errors.Is(err, syscall.EPERM) && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return err == nil
}

// One that hangs does not answer; it can be ended all the same, and another takes its place.
func TestRestartOfOneThatHangs(t *testing.T) {
	r := newRig(t)
	s := r.start(t, gateway(edge))
	hangs := r.events.next(t, Ready)
	if err := s.Answers(t.Context(), edge); err != nil {
		t.Fatalf("before it hangs: %v", err)
	}
	if err := unix.Kill(hangs.PID, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := s.Answers(ctx, edge); err == nil {
		t.Error("it answers")
	}
	if err := s.Restart(edge); err != nil {
		t.Fatal(err)
	}
	if e := r.events.next(t, Exited); e.PID != hangs.PID || e.Err != nil || !e.Again {
		t.Errorf("event %+v: it was told to end, and is followed by another", e)
	}
	if e := r.events.next(t, Ready); e.PID == hangs.PID {
		t.Error("no other took its place")
	}
}
