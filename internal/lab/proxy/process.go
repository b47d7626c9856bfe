package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// killTimeout is how long a process group has to be gone after SIGKILL.
	killTimeout = 10 * time.Second
	// drainLog is how long the last lines of a program that has ended may take to arrive.
	drainLog = time.Second
	// pollEvery is how often something is asked whether it is ready.
	pollEvery = 5 * time.Millisecond
)

// Command is a program to run.
type Command struct {
	// Name is what errors call it: "nginx".
	Name string
	Path string
	Args []string
	// Dir is its working directory; empty is this process's.
	Dir string
	// Env is its environment; nil is this process's.
	Env []string
	// Input is its standard input; nil is an empty one.
	Input *os.File
	// Log takes its standard output and error, line by line. It must be safe for
	// concurrent use.
	Log io.Writer
	// Noise tells the lines that never say why a program ended; nil means none.
	Noise func(line string) bool
}

// Process is a running program and all that it starts: they share a process group of
// their own, and what is left of it is killed when the program ends.
type Process struct {
	name   string
	cmd    *exec.Cmd
	lines  *lines
	read   chan struct{} // closed when all of its output has been read
	exited chan struct{}
	err    error // how it ended; valid once exited is closed
}

// Start runs the command. Its owner calls Stop, or waits for Exited.
func (c Command) Start() (*Process, error) {
	output, input, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	defer input.Close()
	cmd := exec.Command(c.Path, c.Args...) //nolint:noctx // Stop ends it, gracefully.
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.Dir, c.Env, input, input
	if c.Input != nil {
		cmd.Stdin = c.Input
	}
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		output.Close()
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	p := &Process{
		name: c.Name, cmd: cmd, lines: &lines{log: c.Log, noise: c.Noise},
		read: make(chan struct{}), exited: make(chan struct{}),
	}
	go func() {
		defer close(p.read)
		p.lines.readAll(output)
	}()
	go p.wait(output)
	return p, nil
}

// wait owns the end: the program, then what it left behind, then the last of its output.
func (p *Process) wait(output *os.File) {
	defer close(p.exited)
	defer output.Close()
	err := p.cmd.Wait()
	p.kill()
	// Only a process that left the group can hold the pipe open now.
	_ = output.SetReadDeadline(time.Now().Add(drainLog))
	<-p.read
	p.err = p.ended(err)
}

func (p *Process) ended(err error) error {
	how := "ended"
	if err != nil {
		how = "ended with " + err.Error()
	}
	if last := p.lines.last(); last != "" {
		return fmt.Errorf("%s %s: %s", p.name, how, last)
	}
	return fmt.Errorf("%s %s and wrote nothing", p.name, how)
}

// PID is the process ID, and the ID of the group.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Exited is closed when the program has ended and all that it wrote has been read.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Ended says how the program ended, with its last line; nil while it runs.
func (p *Process) Ended() error {
	select {
	case <-p.exited:
		return p.err
	default:
		return nil
	}
}

// LastLine is the last line that it wrote and that is no noise.
func (p *Process) LastLine() string { return p.lines.last() }

// CPU is what the program and those that it has waited for spent; 0 while it runs.
func (p *Process) CPU() time.Duration {
	if p.Ended() == nil {
		return 0
	}
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

// Signal sends a signal to the program, not to its group.
func (p *Process) Signal(signal os.Signal) error {
	if err := p.cmd.Process.Signal(signal); err != nil {
		return errors.Join(fmt.Errorf("send %s to %s: %w", signal, p.name, err), p.Ended())
	}
	return nil
}

// Stop sends a signal that asks the program to end, and waits until it has. When the
// context ends before, the whole group is killed. It is no error if it has ended already.
func (p *Process) Stop(ctx context.Context, signal os.Signal) error {
	_ = p.cmd.Process.Signal(signal) // it may have ended
	select {
	case <-p.exited:
		return nil
	case <-ctx.Done():
	}
	if err := p.killed(); err != nil {
		return err
	}
	return fmt.Errorf("%s did not end by %s in time and was killed: %w", p.name, signal, context.Cause(ctx))
}

// killed kills the group and waits for its end.
func (p *Process) killed() error {
	p.kill()
	select {
	case <-p.exited:
		return nil
	case <-time.After(killTimeout):
		return fmt.Errorf("%s, process %d, does not end after SIGKILL", p.name, p.PID())
	}
}

func (p *Process) kill() { _ = unix.Kill(-p.PID(), unix.SIGKILL) } // there may be nothing left

// Await calls ready until it returns nil. It fails once the program has ended or the
// context is over, and says what was last missing and how the log ends.
func (p *Process) Await(ctx context.Context, ready func(context.Context) error) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return p.err
		case <-ctx.Done():
			return p.late(err)
		case <-tick.C:
		}
	}
}

func (p *Process) late(err error) error {
	if last := p.LastLine(); last != "" {
		return fmt.Errorf("%s does not get ready: %w; its log ends: %s", p.name, err, last)
	}
	return fmt.Errorf("%s does not get ready: %w; it wrote nothing", p.name, err)
}

// Run runs the command to its end and returns what CPU it took. An exit code other
// than 0 is an error that has its last line; when the context ends, it is killed.
func (c Command) Run(ctx context.Context) (time.Duration, error) {
	p, err := c.Start()
	if err != nil {
		return 0, err
	}
	select {
	case <-p.exited:
	case <-ctx.Done():
		if err := p.killed(); err != nil {
			return 0, err
		}
		return p.CPU(), fmt.Errorf("%s did not end in time and was killed: %w", c.Name, context.Cause(ctx))
	}
	if !p.cmd.ProcessState.Success() {
		return p.CPU(), p.err
	}
	return p.CPU(), nil
}
