package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// program is one that the first process keeps running.
type program struct {
	path      string
	arguments []string

	mu      sync.Mutex
	cmd     *exec.Cmd
	ended   chan struct{} // closed when cmd was waited for
	stopped bool          // as ordered
}

// pause is how long a program that ended by itself stays away: they do when those that
// they need are not there yet.
const pause = 200 * time.Millisecond

func (p *program) begin() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.launch()
}

// launch starts the program. Its log is that of the first process.
func (p *program) launch() error {
	p.cmd = exec.CommandContext(context.Background(), p.path, p.arguments...)
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Dir = os.Stderr, os.Stderr, "/"
	p.cmd.Env = []string{"HOME=/", "TMPDIR=" + os.TempDir()}
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", filepath.Base(p.path), err)
	}
	p.ended = make(chan struct{})
	go p.watch(p.cmd, p.ended)
	return nil
}

// watch waits for the end of cmd, and starts the program again when nobody ordered that.
func (p *program) watch(cmd *exec.Cmd, ended chan struct{}) {
	err := cmd.Wait()
	close(ended)
	time.Sleep(pause)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped || p.cmd != cmd {
		return
	}
	fmt.Fprintf(os.Stderr, "cluster: %s ended by itself (%v) and is started again\n", filepath.Base(p.path), err)
	if err := p.launch(); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
	}
}

// rest waits until no thread of the program runs any more: a signal to stop is only the
// beginning of that, and a busy machine lets some go on for a while.
func (p *program) rest() error {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, &info, unix.WSTOPPED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// follow does what is ordered.
func (p *program) follow(do action) error {
	if p == nil {
		return fmt.Errorf("order %q for a program that is not here", do)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch do {
	case freeze:
		if err := p.cmd.Process.Signal(unix.SIGSTOP); err != nil {
			return err
		}
		return p.rest()
	case thaw:
		return p.cmd.Process.Signal(unix.SIGCONT)
	case stop:
		p.stopped = true
		_ = p.cmd.Process.Kill()
		<-p.ended
		return nil
	case start:
		if !p.stopped {
			return nil
		}
		p.stopped = false
		return p.launch()
	}
	return fmt.Errorf("unknown order %q", do)
}
