package app

import (
	"log/slog"
	"strings"
	"testing"
)

// Who may open fewer files than the sessions it accepts need is told at the start.
func TestWarnOfFewFiles(t *testing.T) {
	for _, c := range []struct {
		connections int
		files       uint64
		warns       bool
	}{
		{10_000, 1024, true}, {10_000, 20_099, true}, {10_000, 20_100, false}, {10_000, 0, false}, {0, 64, false}, {1, 1024, false},
	} {
		var out strings.Builder
		warnOfFewFiles(c.connections, c.files, slog.New(slog.NewTextHandler(&out, nil)))
		if warned := strings.Contains(out.String(), "MAX_CONNECTIONS"); warned != c.warns {
			t.Errorf("%d connections and %d files: %q", c.connections, c.files, out.String())
		}
	}
	if openFiles() == 0 {
		t.Error("nobody knows how many files may be open")
	}
}
