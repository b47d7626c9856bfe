package file

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
)

// conf makes a root with three objects, beside another root.
func conf(t *testing.T) (root, other string) {
	t.Helper()
	dir := t.TempDir()
	root, other = filepath.Join(dir, "mnt", "conf"), filepath.Join(dir, "other")
	write(t, filepath.Join(root, "a.yaml"), doc("a", "1"))
	write(t, filepath.Join(root, "sub", "b.yaml"), doc("b", "1")+doc("c", "1"))
	write(t, filepath.Join(other, "o.yaml"), doc("o", "1"))
	return root, other
}

const stays = "conf:0   FileUnreadable : does not exist; its 3 objects stay in force until it is back (retained true)\n"

func deletions(w *watching) (out []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.batches {
		for _, e := range b.Edits {
			if e.Value == nil && e.Key != snapshot.Ref("Namespace", "", "marker") {
				out = append(out, e.Key.String())
			}
		}
	}
	return out
}

func TestRootThatVanishesKeepsItsObjects(t *testing.T) {
	root, other := conf(t)
	w := start(t, Options{Paths: []string{other, root}})
	must(t, os.Rename(root, root+"-old"))
	w.until("the finding", func() bool { return reportOf(w.findings) == stays })
	w.settled() // longer than the grace, and with scans of the other root
	if gone := deletions(w); len(gone) > 0 || w.report() != stays {
		t.Fatalf("deleted %v, findings:\n%s", gone, w.report())
	}
	write(t, filepath.Join(root+"-old", "a.yaml"), doc("a", "2"))
	must(t, os.Remove(filepath.Join(root+"-old", "sub", "b.yaml")))
	write(t, filepath.Join(root+"-old", "d.yaml"), doc("d", "1"))
	before := w.batchCount()
	must(t, os.Rename(root+"-old", root))
	w.until("what it holds now", func() bool { return w.has("a", "2") })
	w.mu.Lock()
	defer w.mu.Unlock()
	if b := w.batches[before]; len(b.Edits) != 4 || len(w.objects) != 3 || len(w.findings) != 0 {
		t.Errorf("edits when it is back: %v; %d objects\n%s", b.Edits, len(w.objects), reportOf(w.findings))
	}
}

func TestFileRootThatVanishesKeepsItsObjects(t *testing.T) {
	root, other := conf(t)
	path := filepath.Join(root, "a.yaml")
	w := start(t, Options{Paths: []string{other, path}})
	must(t, os.Remove(path))
	w.until("the finding", func() bool {
		return strings.Contains(reportOf(w.findings), "does not exist; its 1 object stays in force until it is back (retained true)")
	})
	w.settled()
	if gone := deletions(w); len(gone) > 0 {
		t.Fatalf("deleted %v", gone)
	}
	write(t, path, doc("a", "2"))
	w.until("its return", func() bool { return w.has("a", "2") && len(w.findings) == 0 })
}

func TestParentOfARootThatIsMoved(t *testing.T) {
	root, other := conf(t)
	w := start(t, Options{Paths: []string{other, root}})
	moved := filepath.Dir(root) + "-moved"
	must(t, os.Rename(filepath.Dir(root), moved))
	must(t, os.Remove(filepath.Join(moved, "conf", "a.yaml")))
	w.until("the finding", func() bool { return reportOf(w.findings) == stays })
	must(t, os.Rename(moved, filepath.Dir(root)))
	w.until("its return", func() bool { return w.objects[configMap("a")] == nil && len(w.findings) == 0 })
}

func TestRootThatComesBackEmptyKeepsItsObjects(t *testing.T) {
	root, other := conf(t)
	w := start(t, Options{Paths: []string{other, root}})
	must(t, os.Rename(root, root+"-old"))
	w.until("the finding", func() bool { return reportOf(w.findings) == stays })
	must(t, os.Mkdir(root, 0o700))
	const empty = "conf:0   FileUnreadable : has come back empty, perhaps a file system is not mounted; its 3 objects stay in force until it holds a file (retained true)\n"
	w.until("the other finding", func() bool { return reportOf(w.findings) == empty })
	w.settled()
	if gone := deletions(w); len(gone) > 0 {
		t.Fatalf("deleted %v", gone)
	}
	write(t, filepath.Join(root, "sub", "b.yaml"), doc("b", "2"))
	w.until("what it holds now", func() bool { return w.has("b", "2") && len(w.objects) == 2 && len(w.findings) == 0 })
}

// An unmounted root is an empty directory of another file system; mounting needs
// rights that a test has not, so the change of the device is made up.
func TestUnmountedRootKeepsItsObjects(t *testing.T) {
	root, _ := conf(t)
	s := New(Options{Paths: []string{root}})
	now := s.opts.Now()
	s.scan(func(string) {}, now, false)
	s.readDue(now)
	s.first(now)
	must(t, os.RemoveAll(root))
	must(t, os.Mkdir(root, 0o700))
	s.devices[root]++
	for range 3 {
		now = now.Add(DefaultGrace)
		s.scan(func(string) {}, now, false)
		s.readDue(now)
	}
	b := s.batch(now, false)
	if got := reportOf(b.Findings); len(b.Edits) > 0 || !strings.Contains(got, "its 3 objects stay in force until it holds a file") {
		t.Errorf("edits %v, findings:\n%s", b.Edits, got)
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		root, path string
		want       bool
	}{
		{"a", "a", true},
		{"a", "a/b.yaml", true},
		{"a", "ab", false},
		{".", "a.yaml", true},
		{".", "../a.yaml", false},
		{"/", "/a", true},
		{"/a", "/a/b", true},
		{"/a/b", "/a", false},
	} {
		if got := within(c.root, c.path); got != c.want {
			t.Errorf("%s within %s: %t", c.path, c.root, got)
		}
	}
}
