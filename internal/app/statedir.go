package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lockState makes the state directory and claims it for this process; the claim
// ends with the process, however it ends.
func (i *instance) lockState(context.Context) error {
	dir := i.config.StateDir
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("--state-dir %s: %w; choose a directory that can be written", dir, err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("--state-dir %s: %w; choose a directory that can be written", dir, err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = lock.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return fmt.Errorf("--state-dir %s: another gatehouse uses it; stop that one, or choose another directory", dir)
		}
		return fmt.Errorf("--state-dir %s: lock: %w", dir, err)
	}
	i.lock = lock
	return nil
}

func (i *instance) unlockState(context.Context) error { return i.lock.Close() }
