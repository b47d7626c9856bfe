package golden

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var updateFlag = flag.Bool("update", false, "rewrite the compared sections of golden files")

// File is one golden file within one test.
type File struct {
	t       testing.TB
	path    string
	archive *txtar.Archive
	update  bool
	changed bool
}

// Each runs one subtest a file that matches the pattern, named after the file
// without its extension. No file at all fails the test.
func Each(t *testing.T, pattern string, run func(t *testing.T, f *File)) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden file matches %q (error: %v)", pattern, err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
		t.Run(name, func(t *testing.T) { run(t, Load(t, path)) })
	}
}

// Load reads a golden file. With -update it is written back when the test ends,
// if a compared section changed; a file that does not exist is then made.
func Load(t testing.TB, path string) *File {
	t.Helper()
	return load(t, path, *updateFlag)
}

func load(t testing.TB, path string, update bool) *File {
	t.Helper()
	f := &File{t: t, path: path, archive: &txtar.Archive{}, update: update}
	data, err := os.ReadFile(path)
	switch {
	case err == nil:
		f.archive = txtar.Parse(data)
	case !update || !os.IsNotExist(err):
		t.Fatalf("read golden file: %v (make a new one with -update)", err)
	}
	t.Cleanup(f.save)
	return f
}

func (f *File) save() {
	if !f.changed {
		return
	}
	if err := os.WriteFile(f.path, txtar.Format(f.archive), 0o644); err != nil {
		f.t.Errorf("update golden file: %v", err)
	}
}

// Path returns where the file is.
func (f *File) Path() string { return f.path }

// Comment returns the prose before the first section.
func (f *File) Comment() string { return string(f.archive.Comment) }

// Names returns the names of the sections that start with prefix, in file order.
func (f *File) Names(prefix string) []string {
	var names []string
	for _, section := range f.archive.Files {
		if strings.HasPrefix(section.Name, prefix) {
			names = append(names, section.Name)
		}
	}
	return names
}

// Section returns the content of a section, and whether it exists.
func (f *File) Section(name string) ([]byte, bool) {
	if i := f.index(name); i >= 0 {
		return f.archive.Files[i].Data, true
	}
	return nil, false
}

// Input returns the content of a section that has to exist; the test fails if it does not.
func (f *File) Input(name string) []byte {
	f.t.Helper()
	data, ok := f.Section(name)
	if !ok {
		f.t.Fatalf("%s has no section %q; it has %q", f.path, name, f.Names(""))
	}
	return data
}

// Check compares a section with what the test got and reports a diff as an
// error; with -update the section takes got. A missing final newline is added.
func (f *File) Check(name string, got []byte) {
	f.t.Helper()
	got = withNewline(got)
	want, ok := f.Section(name)
	switch {
	case ok && bytes.Equal(want, got):
	case len(txtar.Parse(got).Files) > 0:
		f.t.Errorf("%s: section %q would hold a txtar section of its own and cannot be a golden", f.path, name)
	case f.update:
		f.set(name, got)
	case !ok:
		f.t.Errorf("%s has no section %q (run with -update); got:\n%s", f.path, name, got)
	default:
		f.t.Errorf("%s: section %q differs (-want +got; accept with -update):\n%s", f.path, name, cmp.Diff(string(want), string(got)))
	}
}

// CheckAll compares all sections whose names start with prefix with got, which
// is keyed by the rest of the name: a section too many is an error too, and
// -update removes it.
func (f *File) CheckAll(prefix string, got map[string][]byte) {
	f.t.Helper()
	for _, name := range f.Names(prefix) {
		if _, ok := got[strings.TrimPrefix(name, prefix)]; ok {
			continue
		}
		if !f.update {
			f.t.Errorf("%s: section %q was not produced (remove it with -update)", f.path, name)
			continue
		}
		f.remove(name)
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		f.Check(prefix+name, got[name])
	}
}

func (f *File) index(name string) int {
	return slices.IndexFunc(f.archive.Files, func(s txtar.File) bool { return s.Name == name })
}

func (f *File) set(name string, data []byte) {
	f.changed = true
	if i := f.index(name); i >= 0 {
		f.archive.Files[i].Data = data
		return
	}
	f.archive.Files = append(f.archive.Files, txtar.File{Name: name, Data: data})
}

func (f *File) remove(name string) {
	f.changed = true
	f.archive.Files = slices.DeleteFunc(f.archive.Files, func(s txtar.File) bool { return s.Name == name })
}

// withNewline is what txtar does to a section when it writes it.
func withNewline(data []byte) []byte {
	if len(data) == 0 || data[len(data)-1] == '\n' {
		return data
	}
	return append(slices.Clip(data), '\n')
}
