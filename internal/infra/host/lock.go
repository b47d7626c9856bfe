package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// lockTimeout is how long the predecessor may take to end.
	lockTimeout = 3 * time.Second
	lockPoll    = 20 * time.Millisecond
)

// stateLock makes a state directory one Supervisor's. The kernel gives it up
// when the process ends, however it ends.
type stateLock struct{ file *os.File }

func lockState(ctx context.Context, stateDir string) (*stateLock, error) {
	path := filepath.Join(stateDir, "proxies.lock")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("state directory %q: %w", stateDir, err)
	}
	if err := lockFile(ctx, file); err != nil {
		holder, _ := os.ReadFile(path) // it only makes the message better
		file.Close()
		return nil, fmt.Errorf("state directory %q is in use by process %s: stop that one, or name another directory with --state-dir (%w)", stateDir, strings.TrimSpace(string(holder)), err)
	}
	if file.Truncate(0) == nil {
		_, _ = fmt.Fprintf(file, "%d\n", os.Getpid()) // for the message above
	}
	return &stateLock{file}, nil
}

func lockFile(ctx context.Context, file *os.File) error {
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
		timer := time.NewTimer(lockPoll)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

func (l *stateLock) release() error { return l.file.Close() }
