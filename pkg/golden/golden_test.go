package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const example = `A story.
-- in.yaml --
kind: Input
-- out/a --
one
two
-- out/b --
stale
`

// recorder is a test whose failures are kept and whose clean-up runs on demand.
type recorder struct {
	testing.TB
	errors  []string
	cleanup []func()
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanup = append(r.cleanup, f) }
func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func (r *recorder) end() {
	for _, f := range r.cleanup {
		f()
	}
}

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "case.txtar")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestCheckAcceptsEqualContent(t *testing.T) {
	r := &recorder{TB: t}
	f := load(r, write(t, example), false)
	f.Check("out/a", []byte("one\ntwo"))
	if len(r.errors) > 0 {
		t.Errorf("errors for equal content: %q", r.errors)
	}
}

func TestCheckShowsWhatDiffers(t *testing.T) {
	r := &recorder{TB: t}
	path := write(t, example)
	f := load(r, path, false)
	f.Check("out/a", []byte("one\nthree\n"))
	f.Check("out/c", []byte("new\n"))
	f.CheckAll("out/", map[string][]byte{"a": []byte("one\ntwo\n")})
	r.end()
	wants := []string{`section "out/a" differs`, `no section "out/c" (run with -update)`, `section "out/b" was not produced`}
	if len(r.errors) != len(wants) {
		t.Fatalf("got %d errors, want %d: %q", len(r.errors), len(wants), r.errors)
	}
	for i, want := range wants {
		if !strings.Contains(r.errors[i], want) {
			t.Errorf("error %q does not contain %q", r.errors[i], want)
		}
	}
	for _, line := range []string{"two", "three"} {
		if !strings.Contains(r.errors[0], line) {
			t.Errorf("diff %q does not show %q", r.errors[0], line)
		}
	}
	if diff := cmp.Diff(example, read(t, path)); diff != "" {
		t.Errorf("a run without -update changed the file:\n%s", diff)
	}
}

func TestUpdateRewritesOnlyComparedSections(t *testing.T) {
	r := &recorder{TB: t}
	path := write(t, example)
	f := load(r, path, true)
	f.CheckAll("out/", map[string][]byte{"a": []byte("one\n"), "c": []byte("new")})
	r.end()
	want := "A story.\n-- in.yaml --\nkind: Input\n-- out/a --\none\n-- out/c --\nnew\n"
	if diff := cmp.Diff(want, read(t, path)); diff != "" || len(r.errors) > 0 {
		t.Errorf("errors %q, file (-want +got):\n%s", r.errors, diff)
	}
}

func TestUpdateRefusesContentThatWouldSplit(t *testing.T) {
	r := &recorder{TB: t}
	path := write(t, example)
	load(r, path, true).Check("out/a", []byte("x\n-- evil --\ny\n"))
	r.end()
	if len(r.errors) != 1 || read(t, path) != example {
		t.Errorf("errors %q, file %q", r.errors, read(t, path))
	}
}

func TestEachFindsSections(t *testing.T) {
	path := write(t, example)
	seen := 0
	Each(t, filepath.Join(filepath.Dir(path), "*.txtar"), func(t *testing.T, f *File) {
		seen++
		if got := string(f.Input("in.yaml")); got != "kind: Input\n" {
			t.Errorf("input %q", got)
		}
		if f.Comment() != "A story.\n" || f.Path() != path {
			t.Errorf("comment %q path %q", f.Comment(), f.Path())
		}
	})
	if seen != 1 {
		t.Errorf("ran %d subtests, want 1", seen)
	}
}
