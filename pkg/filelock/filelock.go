// Package filelock takes a file for one process, or one holder within it, alone: by
// flock(2), which the kernel gives up when the holder closes the file or ends, however it
// ends. It blocks no thread and writes nothing.
package filelock

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Take locks file, trying every poll while somebody else has it. When ctx ends first the
// error is EWOULDBLOCK; it tries once in any case. Other errors are the file system's.
func Take(ctx context.Context, file *os.File, poll time.Duration) error {
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
		timer := time.NewTimer(poll)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}
