package envoyfacts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// written is an access log that is written by the test, in the place of Envoy.
func written(t *testing.T, mark func(add func(string), name string)) (*AccessLog, func(string)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "access.log")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	add := func(text string) {
		if _, err := file.WriteString(text); err != nil {
			t.Error(err)
		}
	}
	return &AccessLog{
		Path: path,
		Read: func(line []byte) (Tried, bool) {
			var out Tried
			_, err := fmt.Fscanf(bytes.NewReader(line), "%s %d", &out.Request, &out.Attempts)
			return out, err == nil
		},
		Mark: func(_ context.Context, name string) error {
			mark(add, name)
			return nil
		},
	}, add
}

func TestAttempts(t *testing.T) {
	log, add := written(t, func(add func(string), name string) { add(name + " 0\n") })
	add("1 1\n2 3\n- 1\nno line of ours\n")
	for i, want := range []map[uint64]int{{1: 1, 2: 3}, {1: 1, 2: 3, 4: 2}} {
		got, err := log.Attempts(t.Context())
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("call %d: %v, error %v; want %v", i, got, err, want)
		}
		add("4 2\n")
	}
}

// TestAttemptsWaitsForTheMark: what was logged before the call may be written after it.
func TestAttemptsWaitsForTheMark(t *testing.T) {
	done := make(chan struct{})
	log, _ := written(t, func(add func(string), name string) {
		go func() {
			defer close(done)
			for _, part := range []string{"1 1\n2", " 7\n", name, " 0\n"} {
				add(part)
			}
		}()
	})
	got, err := log.Attempts(t.Context())
	<-done
	if want := map[uint64]int{1: 1, 2: 7}; err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, error %v; want %v", got, err, want)
	}
}

func TestAttemptsGivesUp(t *testing.T) {
	log, add := written(t, func(func(string), string) {})
	add("1 1\n")
	ctx, cancel := context.WithTimeout(t.Context(), 3*logPoll)
	defer cancel()
	if _, err := log.Attempts(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), log.Path) {
		t.Errorf("error %v, want that the log's mark is missing in time", err)
	}
	if err := os.Remove(log.Path); err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := log.Attempts(ctx); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want that there is no log", err)
	}
}
