package app

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/pipeline"
)

// TestTableFile: the next process recalls the last that was kept.
func TestTableFile(t *testing.T) {
	dir := t.TempDir()
	f := newTableFile(dir, slog.New(slog.DiscardHandler))
	if got := f.Recall(); len(got) > 0 {
		t.Errorf("recalled %v where nothing was kept", got)
	}
	want := map[model.TableID]pipeline.Way{"a/b/80": {Scoped: true, Since: time.Unix(1000, 0).UTC()}, "a/b/443/https": {Scoped: true}}
	f.Keep(map[model.TableID]pipeline.Way{"a/b/80": {}})
	f.Keep(want)
	ctx, stop := context.WithCancel(t.Context())
	stop() // it writes what is left
	var running sync.WaitGroup
	running.Go(func() { _ = f.run(ctx) })
	running.Wait()
	if diff := cmp.Diff(want, newTableFile(dir, slog.New(slog.DiscardHandler)).Recall()); diff != "" {
		t.Errorf("recalled (-want +got):\n%s", diff)
	}
}

// TestTableFileOfNoUse: what cannot be read is told, and taken for nothing.
func TestTableFileOfNoUse(t *testing.T) {
	for name, content := range map[string]string{"empty": "", "no JSON": "{", "another version": `{"version": 2}`} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			f := newTableFile(t.TempDir(), slog.New(slog.NewTextHandler(&log, nil)))
			if err := os.WriteFile(f.path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := f.Recall(); len(got) > 0 || !strings.Contains(log.String(), f.path) {
				t.Errorf("recalled %v and told %q", got, log.String())
			}
		})
	}
}
