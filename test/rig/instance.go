package rig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os/exec"
	"syscall"
	"time"
)

// stopTimeout is how long an instance may take to drain after SIGTERM.
const stopTimeout = 20 * time.Second

// Options say how an instance runs.
type Options struct {
	// Binary is the path of gatehouse.
	Binary string
	// Config are the paths given with --config.
	Config   []string
	StateDir string
	// Admin and Metrics are host:port; empty takes free ports of Loopback.
	Admin, Metrics string
	// Args come after the flags that follow from the other fields.
	Args []string
	// Env is added to this process's environment.
	Env []string
	// Stdout and Stderr take the instance's output as it is written, nil for neither.
	// It is kept for Output unless it is an *os.File.
	Stdout, Stderr io.Writer
}

// Instance is a running "gatehouse run".
type Instance struct {
	// Admin is host:port of the admin API, Metrics of the metrics.
	Admin, Metrics string

	binary string
	cmd    *exec.Cmd
	output *Output
	ended  chan struct{} // closed once the process was waited for
	err    error         // of its end
}

// Start starts an instance and does not wait for anything. It ends when ctx ends,
// or when this process does.
func Start(ctx context.Context, o Options) (*Instance, error) {
	i := &Instance{Admin: o.Admin, Metrics: o.Metrics, binary: o.Binary, output: new(Output), ended: make(chan struct{})}
	for _, address := range []*string{&i.Admin, &i.Metrics} {
		if *address != "" {
			continue
		}
		port, err := FreePort(ctx)
		if err != nil {
			return nil, err
		}
		*address = netip.AddrPortFrom(Loopback, port).String()
	}
	i.cmd = exec.CommandContext(ctx, o.Binary, i.arguments(o)...)
	i.cmd.Env = append(i.cmd.Environ(), o.Env...)
	i.cmd.Stdout, i.cmd.Stderr = i.output.tee(o.Stdout), i.output.tee(o.Stderr)
	i.cmd.Cancel = func() error { return i.cmd.Process.Signal(syscall.SIGTERM) }
	i.cmd.WaitDelay = stopTimeout
	// Its own group: a Ctrl-C in a terminal is ours to pass on, once.
	i.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := i.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Binary, err)
	}
	go i.wait()
	return i, nil
}

func (i *Instance) arguments(o Options) []string {
	args := []string{"run", "--admin-address", i.Admin, "--metrics-address", i.Metrics, "--state-dir", o.StateDir}
	for _, path := range o.Config {
		args = append(args, "--config", path)
	}
	return append(args, o.Args...)
}

// wait is the goroutine that owns the process's end; Stop and Kill wait for it.
func (i *Instance) wait() {
	i.err = i.cmd.Wait()
	close(i.ended)
}

// PID of the process.
func (i *Instance) PID() int { return i.cmd.Process.Pid }

// Output returns what the instance has written so far, stdout and stderr as they came.
func (i *Instance) Output() string { return i.output.String() }

// Ended is closed once the process has ended.
func (i *Instance) Ended() <-chan struct{} { return i.ended }

// EndedError is why the process ended before it was asked to.
type EndedError struct {
	Err    error
	Output string
}

func (e *EndedError) Error() string {
	return fmt.Sprintf("gatehouse ended by itself (%v); it said:\n%s", e.Err, e.Output)
}

func (e *EndedError) Unwrap() error { return e.Err }

// WaitReady waits until the instance says that every accepted listener serves.
func (i *Instance) WaitReady(ctx context.Context) error {
	return i.Until(ctx, "ready", func(ctx context.Context) error { return i.get(ctx, "/readyz") })
}

func (i *Instance) get(ctx context.Context, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+i.Admin+path, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if err := resp.Body.Close(); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s: %s", path, resp.Status, body)
	}
	return nil
}

// Until calls check every few milliseconds until it returns nil, and fails when
// ctx or the instance ends first; then the error is the last one of check.
func (i *Instance) Until(ctx context.Context, what string, check func(context.Context) error) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-i.ended:
			return &EndedError{Err: i.err, Output: i.Output()}
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w", what, errors.Join(context.Cause(ctx), err))
		case <-tick.C:
		}
	}
}

// Stop asks the instance to drain and waits for its end. The error is its exit
// status when that is not 0, or that it had to be killed.
func (i *Instance) Stop() error {
	select {
	case <-i.ended:
		return &EndedError{Err: i.err, Output: i.Output()}
	default:
	}
	_ = i.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-i.ended:
		return i.err
	case <-time.After(stopTimeout):
		_ = i.cmd.Process.Kill()
		<-i.ended
		return fmt.Errorf("gatehouse did not end within %s of SIGTERM; it said:\n%s", stopTimeout, i.Output())
	}
}

// Kill ends the process as a crash would and waits for it.
func (i *Instance) Kill() {
	_ = i.cmd.Process.Kill()
	<-i.ended
}
