package cluster

import (
	"context"
	"testing"
)

// StopAPIServer kills the API server: connections break, and new ones meet a reset
// until [Cluster.StartAPIServer].
func (c *Cluster) StopAPIServer(tb testing.TB) {
	tb.Helper()
	c.must(tb, stop)
}

// StartAPIServer starts it again, and returns when it is ready.
func (c *Cluster) StartAPIServer(tb testing.TB) {
	tb.Helper()
	c.must(tb, start)
	c.mustBeReady(tb)
}

// FreezeAPIServer makes the API server hang: connections stay, and nothing answers until
// [Cluster.ThawAPIServer].
func (c *Cluster) FreezeAPIServer(tb testing.TB) {
	tb.Helper()
	c.must(tb, freeze)
}

// ThawAPIServer lets it go on, and returns when it is ready.
func (c *Cluster) ThawAPIServer(tb testing.TB) {
	tb.Helper()
	c.must(tb, thaw)
	c.mustBeReady(tb)
}

func (c *Cluster) must(tb testing.TB, do action) {
	tb.Helper()
	if err := c.tell(order{Program: apiServer, Do: do}); err != nil {
		tb.Fatalf("%s the API server: %v", do, err)
	}
}

func (c *Cluster) mustBeReady(tb testing.TB) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), startTime)
	defer cancel()
	if err := c.await(ctx, c.ready); err != nil {
		tb.Fatalf("the API server does not become ready: %v", err)
	}
}
