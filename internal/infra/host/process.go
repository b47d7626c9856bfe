package host

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// termTimeout is how long Envoy has to end after SIGTERM, killTimeout after SIGKILL.
	termTimeout = 2 * time.Second
	killTimeout = 10 * time.Second
	// drainPoll is how often a draining Envoy is asked whether it is busy, and
	// drainQuiet how long one with idle connections stays to answer a request
	// that is on its way.
	drainPoll  = 25 * time.Millisecond
	drainQuiet = 250 * time.Millisecond
)

// process is one running Envoy: a child of ours, or one that was adopted.
type process struct {
	record
	dir     start
	admin   admin
	pidfd   *os.File
	adopted bool
	began   time.Time
	logFrom int64 // where in the log it began
	// level is the log level it is known to have; owned by its keeper.
	level string
	// told is set before the process is told to end.
	told atomic.Bool
	// exited is closed when the process has ended, or was left alone.
	exited chan struct{}
	// err is an *ExitError, or nil if it was told to end; valid once exited is closed.
	err error
}

// watch begins to wait for the end of the process.
func (p *process) watch() {
	p.exited = make(chan struct{})
	go func() {
		defer close(p.exited)
		defer p.pidfd.Close()
		if waitExit(p.pidfd) != nil {
			return // left alone
		}
		status, known := reap(p.PID)
		if !p.told.Load() {
			p.err = p.exitError(status, known)
		}
		// What cannot be removed now, the next Supervisor removes.
		_ = p.dir.remove(p.AdminSocket)
	}()
}

func (p *process) exitError(status unix.WaitStatus, known bool) error {
	log := p.dir.gatewayDir().log()
	e := &ExitError{Gateway: p.Gateway, PID: p.PID, Code: -1, Log: tail(log, p.logFrom), LogPath: log}
	switch {
	case known && status.Signaled():
		e.Signal = status.Signal()
	case known:
		e.Code = status.ExitStatus()
	}
	return e
}

// leave stops watching and lets the process live on.
func (p *process) leave() {
	p.pidfd.Close()
	<-p.exited
}

// end drains the process for at most so long and ends it; a context that ends
// cuts every wait short. On return it is gone.
func (p *process) end(ctx context.Context, drain time.Duration) error {
	p.told.Store(true)
	p.drain(ctx, drain)
	if p.signal(unix.SIGTERM) == nil && p.gone(ctx.Done(), termTimeout) {
		return nil
	}
	return p.kill()
}

func (p *process) kill() error {
	p.told.Store(true)
	if err := p.signal(unix.SIGKILL); err != nil {
		return err
	}
	if !p.gone(nil, killTimeout) {
		p.leave()
		return errors.New("it does not end after SIGKILL")
	}
	return nil
}

func (p *process) signal(sig unix.Signal) error { return signal(p.pidfd, sig) }

// gone waits for the end of the process: for so long, and until hurry is closed.
func (p *process) gone(hurry <-chan struct{}, timeout time.Duration) bool {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-hurry:
	case <-timer.C:
	}
	return false
}

// stopListening frees the ports of the process.
func (p *process) stopListening(ctx context.Context) error {
	p.told.Store(true)
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	return p.admin.stopListening(ctx)
}

// drain has the process stop listening and waits until it has nothing to do,
// for at most so long.
func (p *process) drain(ctx context.Context, timeout time.Duration) {
	if p.stopListening(ctx) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	poll := time.NewTicker(drainPoll)
	defer poll.Stop()
	for began := time.Now(); ; {
		load, err := p.admin.load(ctx)
		if err != nil || load.open == 0 || load.busy == 0 && time.Since(began) > drainQuiet {
			return
		}
		select {
		case <-poll.C:
		case <-p.exited:
			return
		case <-ctx.Done():
			return
		}
	}
}

// answers reports whether the admin socket is served at all.
func (p *process) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	return p.admin.answers(ctx) == nil
}
