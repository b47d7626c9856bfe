package process

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/gatehouse-proxy/gatehouse/pkg/filelock"
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
	err = context.Cause(ctx)
	if err == nil {
		err = filelock.Take(ctx, file, lockPoll)
	}
	switch {
	case err == nil:
		return func() { _ = file.Close() }, nil
	case ctx.Err() != nil:
		err = fmt.Errorf("wait for its lock: %w", context.Cause(ctx))
	}
	_ = file.Close()
	return nil, err
}
