package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lockPoll is how often a lock is tried that somebody has.
const lockPoll = 2 * time.Millisecond

// lock takes a file for this call alone, among all processes. The kernel gives it up when
// the process ends, however it ends.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	again := time.NewTicker(lockPoll)
	defer again.Stop()
	for {
		if err = context.Cause(ctx); err != nil {
			err = fmt.Errorf("wait for its lock: %w", err)
			break
		}
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			break
		}
		select {
		case <-again.C:
		case <-ctx.Done():
		}
	}
	_ = file.Close()
	return nil, err
}
