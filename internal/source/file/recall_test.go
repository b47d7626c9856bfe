package file

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/source/schema"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// memory is what an earlier run had accepted.
type memory struct {
	revisions map[store.Key]schema.Object
	files     map[store.Key]string
	asked     map[store.Key]int
}

func remembered(file, text string) *memory {
	m := &memory{map[store.Key]schema.Object{}, map[store.Key]string{}, map[store.Key]int{}}
	for _, d := range schema.Split([]byte(text)) {
		for _, o := range schema.New(schema.Options{}).Decode(d, nil) {
			o.Value.SetGeneration(7)
			m.revisions[o.Key], m.files[o.Key] = o, file
		}
	}
	return m
}

func (m *memory) Revision(key store.Key) (schema.Object, bool) {
	m.asked[key]++
	o, ok := m.revisions[key]
	return o, ok
}

func (m *memory) File(key store.Key) string { return m.files[key] }

func (m *memory) In(in func(string) bool) (out []store.Key) {
	for key, file := range m.files {
		if in(file) {
			out = append(out, key)
		}
	}
	slices.SortFunc(out, store.Key.Compare)
	return out
}

// TestStartWithWhatCannotBeRead: what was accepted of the objects before stays in force,
// as it was, until the file says something else.
func TestStartWithWhatCannotBeRead(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"refused": func(path string) error {
			return os.WriteFile(path, []byte(strings.Replace(doc("a", "2"), "\ndata:", "\ndato:", 1)+doc("b", "2")), 0o600)
		},
		"no YAML": func(path string) error { return os.WriteFile(path, []byte("{[\n---\n"+doc("b", "2")), 0o600) },
		"no identity": func(path string) error {
			return os.WriteFile(path, []byte("kind: ConfigMap\n---\n"+doc("b", "2")), 0o600)
		},
		"too large": func(path string) error { return os.Truncate(path, schema.MaxFileBytes+1) },
		"no root":   func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "root")
			path := filepath.Join(dir, "a.yaml")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, path, "")
			must(t, spoil(path))
			w := start(t, Options{Paths: []string{dir}, Recall: remembered(path, doc("a", "1")), Grace: 20 * time.Millisecond})
			if !w.has("a", "1") || w.objects[configMap("a")].GetGeneration() != 7 {
				t.Fatalf("objects are %v", w.names())
			}
			w.until("a finding that tells what stays", func() bool {
				for _, found := range w.findings {
					if slices.ContainsFunc(found, func(f snapshot.Finding) bool { return f.Retained }) {
						return true
					}
				}
				return false
			})
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, path, doc("a", "3"))
			w.until("the repair", func() bool { return w.has("a", "3") && len(w.findings) == 0 })
			must(t, os.Remove(path))
			write(t, filepath.Join(dir, "other.yaml"), doc("c", "1"))
			w.until("the deletion", func() bool { return len(w.objects) == 1 && w.has("c", "1") })
		})
	}
}

// TestStartAfterDeletion: what was removed while nothing ran is gone, and nothing is
// decoded for what is there.
func TestStartAfterDeletion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	write(t, path, doc("a", "2"))
	m := remembered(path, doc("a", "1")+doc("gone", "1"))
	w := start(t, Options{Paths: []string{path}, Recall: m})
	if len(w.objects) != 1 || !w.has("a", "2") || m.asked[configMap("gone")] > 0 {
		t.Errorf("objects are %v, asked for %v", w.names(), m.asked)
	}
}

// TestStartWithForbiddenChange: a change that is not allowed is not allowed while
// nothing runs either.
func TestStartWithForbiddenChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	fixed := strings.Replace(doc("a", "1"), "\ndata:", "\nimmutable: true\ndata:", 1)
	write(t, path, strings.Replace(fixed, `"1"`, `"2"`, 1))
	if fixed == doc("a", "1") {
		t.Fatal("not immutable")
	}
	w := start(t, Options{Paths: []string{path}, Recall: remembered(path, fixed)})
	if !w.has("a", "1") || len(w.findings) != 1 {
		t.Errorf("objects are %v, findings %v", w.names(), w.findings)
	}
}
