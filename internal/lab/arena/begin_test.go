package arena

import (
	"context"
	"errors"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// Even a killed process may take its time to end; a start waits no longer than it may.
func TestAStartDoesNotWaitForEver(t *testing.T) {
	before := &backend{Name: "old", process: &process{ended: make(chan struct{})}, end: lab.Kill}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := new(Arena).begin(ctx, &backend{Name: "new", before: before}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that the start was cancelled", err)
	}
}
