package command

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// maxOutput bounds what is kept of a program's output.
const maxOutput = 1 << 20

// searchPath is where a program finds other programs.
const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// afterKill is how long the pipes of a killed program are waited for.
const afterKill = time.Second

// output is what a program wrote, as far as it is kept.
type output struct {
	stdout, stderr []byte
	cut            bool // it wrote more than is kept
}

// execute runs the program in a process group of its own, with nothing of our
// environment, until it ends or ctx does; then the group is killed. Children that
// outlive it are killed, too, and it does not outlive us.
func (v *Validator) execute(ctx context.Context) (output, error) {
	runtime.LockOSThread() // the parent-death signal comes when the thread ends that started a child
	defer runtime.UnlockOSThread()
	stdout, stderr := &bounded{}, &bounded{}
	cmd := exec.CommandContext(ctx, v.Command[0], v.Command[1:]...)
	cmd.Dir = v.Dir
	cmd.Env = []string{"PATH=" + searchPath, "GATEHOUSE_CANDIDATE=" + v.files.candidate(), "GATEHOUSE_DELTA=" + v.files.delta()}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = afterKill
	cmd.Cancel = func() error { return killGroup(cmd.Process.Pid) }
	err := cmd.Run()
	if cmd.Process != nil {
		_ = killGroup(cmd.Process.Pid) // what it left behind
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it ended well; only its children held the pipes
	}
	return output{stdout.Bytes(), stderr.Bytes(), stdout.cut}, err
}

func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }

// bounded keeps the beginning of what is written to it.
type bounded struct {
	bytes.Buffer
	cut bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if left := maxOutput - b.Len(); left < len(p) {
		b.cut = true
		b.Buffer.Write(p[:left])
		return len(p), nil
	}
	return b.Buffer.Write(p)
}

// said is the last line of what a program wrote, ready to follow a sentence.
func said(stderr []byte) string {
	lines := strings.Split(strings.TrimSpace(string(stderr)), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return ": " + last
	}
	return ""
}
