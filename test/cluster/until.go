package cluster

import (
	"context"
	"testing"
	"time"
)

// untilPoll is how often Until looks.
const untilPoll = 20 * time.Millisecond

// Until waits until check returns nil. After the limit the test fails, with what check
// said last.
func Until(tb testing.TB, limit time.Duration, what string, check func(context.Context) error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), limit)
	defer cancel()
	tick := time.NewTicker(untilPoll)
	defer tick.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tb.Fatalf("not within %s: %s: %v", limit, what, err)
		}
	}
}
