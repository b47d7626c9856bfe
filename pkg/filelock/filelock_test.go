package filelock

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestOneHasIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, second := open(t, path), open(t, path)
	if err := Take(t.Context(), first, time.Millisecond); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Take(ended, second, time.Hour); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("the second gets %v", err)
	}
	got := make(chan error, 1)
	go func() { got <- Take(t.Context(), second, time.Millisecond) }()
	_ = first.Close()
	if err := <-got; err != nil {
		t.Errorf("after the first has closed it: %v", err)
	}
}
