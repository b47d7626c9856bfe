package redis

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
)

// TestDoubt: what ended is told again to a server that failed, and not because a client has
// hung up, which many do all the time.
func TestDoubt(t *testing.T) {
	gone, hangUp := context.WithCancel(t.Context())
	hangUp()
	for name, c := range map[string]struct {
		ctx   context.Context //nolint:containedctx // of one row
		again int
	}{"the server is not there": {t.Context(), 1}, "the client is not": {gone, 0}} {
		a, err := parseAddress("redis://127.0.0.1:1")
		if err != nil {
			t.Fatal(err)
		}
		s := &Store{address: a, client: dial(a), scripts: compile(lease.DefaultWindows()), keys: []string{"{k}"}}
		s.given.release("ended")

		_, err = s.Acquire(c.ctx, lease.Request{TTL: time.Minute})

		if _, released := s.given.take(); len(released) != c.again || !errors.Is(err, lease.ErrUnavailable) {
			t.Errorf("%s: %v, and %d are told again, want %d", name, err, len(released), c.again)
		}
		if err := s.client.Close(); err != nil {
			t.Error(err)
		}
	}
}
