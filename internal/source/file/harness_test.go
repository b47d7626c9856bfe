package file

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// watching is a running Source and everything that it has told.
type watching struct {
	t      *testing.T
	source *Source

	mu       sync.Mutex
	changed  chan struct{}
	batches  []snapshot.Batch
	objects  map[store.Key]snapshot.Object
	origins  map[store.Key]snapshot.Origin
	findings map[string][]snapshot.Finding
}

// start runs a Source on paths until the test ends, and waits for its first batch.
func start(t *testing.T, o Options) *watching {
	t.Helper()
	w, stop := run(t, o)
	t.Cleanup(stop)
	return w
}

func run(t *testing.T, o Options) (w *watching, stop func()) {
	t.Helper()
	w = &watching{
		t: t, source: New(o), changed: make(chan struct{}),
		objects: map[store.Key]snapshot.Object{}, origins: map[store.Key]snapshot.Origin{}, findings: map[string][]snapshot.Finding{},
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := w.source.Run(ctx, w.take); err != nil {
			t.Error(err)
		}
	})
	w.until("the first batch", func() bool { return len(w.batches) > 0 })
	return w, func() { cancel(); running.Wait() }
}

func (w *watching) take(b snapshot.Batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	apply(b, w.objects, w.origins, w.findings)
	w.batches = append(w.batches, b)
	close(w.changed)
	w.changed = make(chan struct{})
}

func apply(b snapshot.Batch, objects map[store.Key]snapshot.Object, origins map[store.Key]snapshot.Origin, findings map[string][]snapshot.Finding) {
	for _, e := range b.Edits {
		if e.Value == nil {
			delete(objects, e.Key)
		} else {
			objects[e.Key] = e.Value.(snapshot.Object)
		}
	}
	maps.Copy(origins, b.Origins)
	for path, f := range b.Findings {
		if len(f) == 0 {
			delete(findings, path)
		} else {
			findings[path] = f
		}
	}
}

// until waits for a condition on what was told; it holds w.mu while asking.
func (w *watching) until(what string, ok func() bool) {
	w.t.Helper()
	deadline := time.NewTimer(60 * time.Second)
	defer deadline.Stop()
	for {
		w.mu.Lock()
		done, changed := ok(), w.changed
		w.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-deadline.C:
			w.t.Fatalf("waited in vain for %s\nobjects: %v\nfindings: %s", what, w.names(), w.report())
		}
	}
}

func (w *watching) names() (out []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k := range w.objects {
		out = append(out, k.String())
	}
	return out
}

func (w *watching) report() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return reportOf(w.findings)
}

func reportOf(findings map[string][]snapshot.Finding) string {
	var b strings.Builder
	for _, list := range findings {
		for _, f := range list {
			fmt.Fprintf(&b, "%s:%d %s %s %s: %s (retained %t)\n", filepath.Base(f.File), f.Line, f.Object, f.Step.Reason, f.Step.Field, f.Step.Message, f.Retained)
		}
	}
	return b.String()
}

// has reports whether the ConfigMap a name has this value under "v".
func (w *watching) has(name, value string) bool {
	o := w.objects[configMap(name)]
	return o != nil && valueOf(o) == value
}

func (w *watching) batchCount() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.batches)
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
