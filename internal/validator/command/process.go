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
	"unicode"

	"golang.org/x/sys/unix"
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
// environment, until it ends or ctx does; then what is left of the group is killed. The
// program does not outlive us.
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
	if err := cmd.Start(); err != nil {
		return output{}, err
	}
	awaitExit(cmd.Process.Pid)
	_ = killGroup(cmd.Process.Pid) // its children, while its number is still its own
	err := cmd.Wait()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it ended well; what left its group holds the pipes
	}
	return output{stdout.kept.Bytes(), stderr.kept.Bytes(), stdout.cut}, err
}

// awaitExit waits until a child has ended, and leaves its status for Wait.
func awaitExit(pid int) {
	for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
}

func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }

// bounded keeps the beginning of what is written to it.
type bounded struct {
	kept bytes.Buffer
	cut  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	left := min(len(p), maxOutput-b.kept.Len())
	b.cut = b.cut || left < len(p)
	b.kept.Write(p[:left])
	return len(p), nil
}

// said is the last line of what a program wrote, ready to follow a sentence.
func said(stderr []byte) string {
	text := strings.TrimSpace(string(stderr))
	if last := line(text[strings.LastIndexByte(text, '\n')+1:]); last != "" {
		return ": " + last
	}
	return ""
}

// maxLine bounds the texts that are taken from a program, in bytes.
const maxLine = 1000

// line makes one line of a text: what cannot be printed becomes a space, and what is
// too long is cut.
func line(text string) string {
	text = strings.ToValidUTF8(text[:min(len(text), maxLine)], "")
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
	return strings.Join(strings.Fields(text), " ")
}
