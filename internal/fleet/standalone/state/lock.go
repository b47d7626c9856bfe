package state

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/pkg/filelock"
)

// How long a predecessor may take to end, and how often it is looked for.
const (
	lockTimeout = 10 * time.Second
	lockPoll    = 20 * time.Millisecond
)

// lock makes a directory this process's. The kernel gives it up when the process ends,
// however it ends.
func lock(ctx context.Context, dir string, timeout time.Duration) (*os.File, error) {
	path := filepath.Join(dir, "lock")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("state directory %q: %w", dir, err)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := filelock.Take(ctx, file, lockPoll); err != nil {
		holder, _ := os.ReadFile(path) // it only makes the message better
		file.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("state directory %q cannot be locked: %w; choose one on a local file system with --state-dir", dir, err)
		}
		return nil, fmt.Errorf("state directory %q is in use by process %s: stop that one, or name another directory with --state-dir", dir, strings.TrimSpace(string(holder)))
	}
	if file.Truncate(0) == nil {
		_, _ = fmt.Fprintf(file, "%d\n", os.Getpid()) // for the message above
	}
	return file, nil
}
