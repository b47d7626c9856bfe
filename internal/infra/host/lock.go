package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/pkg/filelock"
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
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	if err := filelock.Take(ctx, file, lockPoll); err != nil {
		holder, _ := os.ReadFile(path) // it only makes the message better
		file.Close()
		return nil, fmt.Errorf("state directory %q is in use by process %s: stop that one, or name another directory with --state-dir (%w)", stateDir, strings.TrimSpace(string(holder)), err)
	}
	if file.Truncate(0) == nil {
		_, _ = fmt.Fprintf(file, "%d\n", os.Getpid()) // for the message above
	}
	return &stateLock{file}, nil
}

func (l *stateLock) release() error { return l.file.Close() }
