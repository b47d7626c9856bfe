package file

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
)

func TestFindingsOfPathsThatGoAreCleared(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "o.yaml")
	write(t, outside, doc("o", "1"))
	for name, make := range map[string]func(path string) error{
		"dangling link": func(path string) error { return os.Symlink("nowhere", path) },
		"link loop":     func(path string) error { return os.Symlink(".", path) },
		"link to self":  func(path string) error { return os.Symlink(filepath.Base(path), path) },
		"link out":      func(path string) error { return os.Symlink(outside, path) },
		"FIFO":          func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		for _, early := range []bool{false, true} {
			t.Run(name+map[bool]string{true: " from the start"}[early], func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				path := filepath.Join(dir, "x.yaml")
				write(t, filepath.Join(dir, "a.yaml"), doc("a", "1"))
				if early {
					must(t, make(path))
				}
				w := start(t, Options{Paths: []string{dir}, Quiet: 10 * time.Millisecond})
				if !early {
					must(t, make(path))
				}
				w.until("the finding", func() bool { return len(w.findings) == 1 })
				must(t, os.Remove(path))
				w.until("its end", func() bool { return len(w.findings) == 0 })
				must(t, make(path))
				w.until("the finding again", func() bool { return len(w.findings) == 1 })
				write(t, path+".tmp", doc("b", "1"))
				must(t, os.Rename(path+".tmp", path))
				w.until("a file in its place", func() bool { return w.has("b", "1") && len(w.findings) == 0 })
			})
		}
	}
}

func TestDanglingLinkIsReadWhenItsTargetComes(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Symlink("later/real", filepath.Join(dir, "x.yaml")))
	w := start(t, Options{Paths: []string{dir}})
	write(t, filepath.Join(dir, "later", "real"), doc("b", "1"))
	w.until("what the link leads to", func() bool { return w.has("b", "1") && len(w.findings) == 0 })
}

func TestMovedFileIsOneBatchWithoutNews(t *testing.T) {
	for _, to := range []string{"g2.yaml", "a.yaml"} {
		t.Run(to, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, filepath.Join(dir, "good.yaml"), doc("a", "1")+doc("b", "1"))
			write(t, filepath.Join(dir, "z.yaml"), doc("a", "other"))
			w := start(t, Options{Paths: []string{dir}})
			before := w.report()
			must(t, os.Rename(filepath.Join(dir, "good.yaml"), filepath.Join(dir, to)))
			w.until("the new origin", func() bool { return filepath.Base(w.origins[configMap("b")].File) == to })
			w.settled()
			w.mu.Lock()
			defer w.mu.Unlock()
			var told []snapshot.Batch
			for _, b := range w.batches[1:] {
				if _, marker := b.Origins[snapshot.Ref("Namespace", "", "marker")]; !marker && !isEmpty(b) {
					told = append(told, b)
				}
				if len(b.Edits) > 0 {
					t.Errorf("a move changes objects: %v", b.Edits)
				}
			}
			if len(told) != 1 || told[0].Files != 2 {
				t.Errorf("%d batches: %+v", len(told), told)
			}
			if got := reportOf(w.findings); got != strings.Replace(before, "good.yaml", to, 1) {
				t.Errorf("findings\n%s\nbefore the move\n%s", got, before)
			}
		})
	}
}

func TestCopyIsStillADuplicate(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "good.yaml"), doc("a", "1"))
	w := start(t, Options{Paths: []string{dir}})
	must(t, os.Rename(filepath.Join(dir, "good.yaml"), filepath.Join(dir, "z.yaml")))
	write(t, filepath.Join(dir, "good.yaml"), doc("a", "1"))
	w.until("the finding", func() bool { return strings.Contains(reportOf(w.findings), "DuplicateObject") })
}
