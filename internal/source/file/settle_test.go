package file

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// many is the text of n ConfigMaps that all have the same value, about 200 bytes each.
func many(n int, value string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "# %s\n%s", strings.Repeat("x", 110), doc(fmt.Sprintf("m-%04d", i), value))
	}
	return b.String()
}

// pace calls step n times, evenly over d. The pace is what is tested.
func pace(t *testing.T, n int, d time.Duration, step func(i int)) {
	t.Helper()
	ticks := time.NewTicker(d / time.Duration(n))
	defer ticks.Stop()
	for i := range n {
		step(i)
		<-ticks.C
	}
}

// check fails on a deletion, and on a batch in which not all objects change together.
func noHalves(t *testing.T, w *watching, from, objects int) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.batches[from:] {
		for _, e := range b.Edits {
			if e.Value == nil {
				t.Fatalf("%s was deleted while its file was being written", e.Key)
			}
		}
	}
	if len(w.objects) != objects {
		t.Fatalf("%d objects, want %d", len(w.objects), objects)
	}
}

func TestFileWrittenInPlaceOverTwoSecondsDeletesNothing(t *testing.T) {
	const objects = 1100
	content := many(objects, "2")
	if len(content) < 200_000 {
		t.Fatalf("only %d bytes", len(content))
	}
	for _, reopen := range []bool{false, true} {
		t.Run(fmt.Sprintf("reopened for each step %t", reopen), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "a.yaml")
			write(t, path, many(objects, "1"))
			w := start(t, Options{Paths: []string{path}})
			before := w.batchCount()
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC|os.O_APPEND, 0)
			must(t, err)
			steps := (len(content) + 1023) / 1024
			pace(t, steps, 2*time.Second, func(i int) {
				_, err := f.WriteString(content[i*1024 : min((i+1)*1024, len(content))])
				must(t, err)
				if reopen {
					must(t, f.Close())
					f, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
					must(t, err)
				}
			})
			if !reopen && w.batchCount() != before {
				t.Error("the file was read before it was complete")
			}
			must(t, f.Close())
			w.until("the new content", func() bool {
				for _, o := range w.objects {
					if valueOf(o) != "2" {
						return false
					}
				}
				return true
			})
			noHalves(t, w, before, objects)
		})
	}
}

func TestFileKeptOpenCountsAfterQuiet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	write(t, path, doc("a", "1"))
	w := start(t, Options{Paths: []string{path}})
	f, err := os.Create(path)
	must(t, err)
	defer f.Close()
	begin := time.Now()
	_, err = f.WriteString(doc("a", "2"))
	must(t, err)
	w.until("the content of an open file", func() bool { return w.has("a", "2") })
	if rest := time.Since(begin); rest < DefaultQuiet {
		t.Errorf("read after %v, want at least %v", rest, DefaultQuiet)
	}
	noHalves(t, w, 1, 1)
}

func TestMissingCountsAsDeletedOnlyAfterGrace(t *testing.T) {
	for name, remove := range map[string]func(path string) error{
		"document":   func(path string) error { return os.WriteFile(path, []byte(doc("a", "2")), 0o600) },
		"empty file": func(path string) error { return os.Truncate(path, 0) },
		"file":       os.Remove,
		"file renamed away": func(path string) error {
			return os.Rename(path, path+"~")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "a.yaml")
			write(t, path, doc("a", "1")+doc("b", "1"))
			w := start(t, Options{Paths: []string{filepath.Dir(path)}, Quiet: time.Millisecond})
			begin := time.Now()
			must(t, remove(path))
			w.until("the deletion", func() bool { return w.objects[configMap("b")] == nil })
			if rest := time.Since(begin); rest < DefaultGrace {
				t.Errorf("deleted after %v, want at least %v", rest, DefaultGrace)
			}
		})
	}
}

func TestWhatComesBackWithinGraceIsNotDeleted(t *testing.T) {
	both := doc("a", "1") + doc("b", "1")
	for name, replace := range map[string]func(t *testing.T, path string){
		"truncated and written": func(t *testing.T, path string) {
			t.Helper()
			must(t, os.Truncate(path, 0))
			write(t, path, doc("a", "2"))
			write(t, path, doc("a", "2")+doc("b", "2"))
		},
		"backup by rename, as vim does": func(t *testing.T, path string) {
			t.Helper()
			must(t, os.Rename(path, path+"~"))
			write(t, path, doc("a", "2")+doc("b", "2"))
			must(t, os.Remove(path+"~"))
		},
		"renamed into place": func(t *testing.T, path string) {
			t.Helper()
			write(t, path+".tmp", doc("a", "2")+doc("b", "2"))
			must(t, os.Rename(path+".tmp", path))
		},
		"removed and made anew, as git does": func(t *testing.T, path string) {
			t.Helper()
			must(t, os.Remove(path))
			write(t, path, doc("a", "2")+doc("b", "2"))
		},
		"moved to another file": func(t *testing.T, path string) {
			t.Helper()
			write(t, path, doc("a", "2"))
			write(t, filepath.Join(filepath.Dir(path), "z.yaml"), doc("b", "2"))
		},
		"directory renamed back and forth": func(t *testing.T, path string) {
			t.Helper()
			dir := filepath.Dir(path)
			must(t, os.Rename(dir, dir+"-old"))
			write(t, path, doc("a", "2")+doc("b", "2"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "conf", "a.yaml")
			write(t, path, both)
			w := start(t, Options{Paths: []string{filepath.Dir(path)}})
			replace(t, path)
			w.until("the new values", func() bool { return w.has("a", "2") && w.has("b", "2") })
			w.settled()
			noHalves(t, w, 1, 2)
			if r := w.report(); r != "" {
				t.Errorf("findings:\n%s", r)
			}
		})
	}
}

// settled waits until a marker object, written now, has come and gone: whatever
// was in doubt before it is decided by then.
func (w *watching) settled() {
	w.t.Helper()
	root := w.source.roots[0]
	path := filepath.Join(root, "zz-marker.yaml")
	key := snapshot.Ref("Namespace", "", "marker")
	write(w.t, path, "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: marker\n")
	w.until("the marker", func() bool { return w.objects[key] != nil })
	must(w.t, os.Remove(path))
	w.until("the marker's end", func() bool { return w.objects[key] == nil })
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, b := range w.batches {
		w.batches[i].Edits = slices.DeleteFunc(slices.Clone(b.Edits), func(e store.Edit) bool { return e.Key == key })
	}
}
