package file

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
)

func route(i, weight int) string {
	return fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: r%d, namespace: shop}\nspec:\n  parentRefs: [{name: edge}]\n  hostnames: [h%d.example]\n  rules:\n  - matches: [{path: {type: PathPrefix, value: /a}}]\n    backendRefs: [{name: a, port: 80, weight: %d}]\n---\n", i, i, weight)
}

// BenchmarkFirstBatch reads n routes from one file each, as a start does.
func BenchmarkFirstBatch(b *testing.B) {
	for _, n := range []int{30, 300, 3000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := b.TempDir()
			for i := range n {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("r%d.yaml", i)), []byte(route(i, 1)), 0o600); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				if got := ReadOnce(Options{Paths: []string{dir}}); len(got.Edits) != n {
					b.Fatalf("%d objects", len(got.Edits))
				}
			}
		})
	}
}

// BenchmarkEdit changes one of n routes in the index: in a file of its own, and
// in one file that holds them all. Only the changed document is decoded.
func BenchmarkEdit(b *testing.B) {
	for _, n := range []int{30, 300, 3000} {
		for _, single := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/one file %t", n, single), func(b *testing.B) {
				w := newWorld()
				routes := make([]string, n)
				for i := range n {
					routes[i] = route(i, 1)
					if !single {
						w.set(text{fmt.Sprintf("r%d", i), []byte(routes[i])})
					}
				}
				path := "r7"
				if single {
					w.set(text{path, []byte(strings.Join(routes, ""))})
				}
				w.flush(time.Time{})
				before, edits := w.decoded.Load(), 0
				for b.Loop() {
					edits++
					routes[7] = route(7, edits%100+2)
					content := routes[7]
					if single {
						content = strings.Join(routes, "")
					}
					w.set(text{path, []byte(content)})
					if got := w.flush(time.Time{}); len(got.Edits) != 1 {
						b.Fatalf("%d edits", len(got.Edits))
					}
				}
				b.ReportMetric(float64(w.decoded.Load()-before)/float64(edits), "decoded/op")
			})
		}
	}
}

// BenchmarkWrittenToEmitted is the time from a write to its batch, through the
// real file system.
func BenchmarkWrittenToEmitted(b *testing.B) {
	path := filepath.Join(b.TempDir(), "a.yaml")
	if err := os.WriteFile(path, []byte(route(1, 1)), 0o600); err != nil {
		b.Fatal(err)
	}
	told := make(chan snapshot.Batch, 1)
	done := make(chan error, 1)
	source := New(Options{Paths: []string{path}})
	go func() { done <- source.Run(b.Context(), func(batch snapshot.Batch) { told <- batch }) }()
	<-told
	for i := 0; b.Loop(); i++ {
		if err := os.WriteFile(path, []byte(route(1, i%100+2)), 0o600); err != nil {
			b.Fatal(err)
		}
		<-told
	}
	b.Cleanup(func() { <-done })
}
