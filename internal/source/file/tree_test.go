package file

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestDirectoriesComeAndGo(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "conf")
	write(t, filepath.Join(root, "a.yaml"), doc("a", "1"))
	w := start(t, Options{Paths: []string{root}})

	write(t, filepath.Join(root, "sub", "deep", "b.yml"), doc("b", "1"))
	w.until("a file in a new directory", func() bool { return w.has("b", "1") })
	write(t, filepath.Join(root, "sub", "deep", "b.yml"), doc("b", "2"))
	w.until("its next content", func() bool { return w.has("b", "2") })

	write(t, filepath.Join(dir, "outside", "c.json"), `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"v":"1"}}`)
	must(t, os.Rename(filepath.Join(dir, "outside"), filepath.Join(root, "inside")))
	w.until("a file in a directory moved in", func() bool { return w.has("c", "1") })

	must(t, os.Rename(filepath.Join(root, "inside"), filepath.Join(root, "renamed")))
	write(t, filepath.Join(root, "renamed", "c.json"), `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"v":"2"}}`)
	w.until("an edit after the rename", func() bool { return w.has("c", "2") })

	must(t, os.RemoveAll(filepath.Join(root, "sub")))
	w.until("the end of its objects", func() bool { return w.objects[configMap("b")] == nil })
	must(t, os.RemoveAll(root))
	w.until("the missing root", func() bool {
		return strings.Contains(reportOf(w.findings), "does not exist; its 2 objects stay in force until it is back (retained true)")
	})
	write(t, filepath.Join(root, "a.yaml"), doc("a", "3"))
	w.until("the root made anew", func() bool { return w.has("a", "3") && len(w.objects) == 1 && len(w.findings) == 0 })
}

func TestIgnoredNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".hidden.yaml", "a.yaml~", ".a.yaml.swp", "#a.yaml#", "a.txt", "a.yaml.tmp", ".git/a.yaml"} {
		write(t, filepath.Join(dir, name), "this is: [no: object")
	}
	write(t, filepath.Join(dir, "A.YAML"), doc("a", "1"))
	b := ReadOnce(Options{Paths: []string{dir}})
	if b.Files != 1 || len(b.Edits) != 1 || len(b.Findings) != 0 {
		t.Errorf("%d files, %d objects, findings:\n%s", b.Files, len(b.Edits), reportOf(b.Findings))
	}
}

// mount lays out a directory as Kubernetes mounts a ConfigMap: a data directory
// behind the link ..data, and a link for each file.
func mount(t *testing.T, dir string, version int, files map[string]string) {
	t.Helper()
	data := fmt.Sprintf("..v%d", version)
	for name, content := range files {
		write(t, filepath.Join(dir, data, name), content)
	}
	must(t, os.Symlink(data, filepath.Join(dir, "..data_tmp")))
	must(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	for name := range files {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
	old := filepath.Join(dir, fmt.Sprintf("..v%d", version-1))
	links, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	must(t, err)
	for _, link := range links {
		if files[filepath.Base(link)] == "" {
			must(t, os.Remove(link))
		}
	}
	must(t, os.RemoveAll(old))
}

func TestKubernetesMountSwapsInOneBatch(t *testing.T) {
	for _, single := range []bool{false, true} {
		t.Run(fmt.Sprintf("single file %t", single), func(t *testing.T) {
			dir := t.TempDir()
			mount(t, dir, 1, map[string]string{"a.yaml": doc("a", "1"), "b.yaml": doc("b", "1"), "c.yaml": doc("c", "1")})
			path := dir
			if single {
				path = filepath.Join(dir, "a.yaml")
			}
			w := start(t, Options{Paths: []string{path}})
			if r := w.report(); r != "" {
				t.Fatalf("findings:\n%s", r)
			}
			mount(t, dir, 2, map[string]string{"a.yaml": doc("a", "2"), "b.yaml": doc("b", "2")})
			w.until("the new version", func() bool { return w.has("a", "2") })
			if single {
				return
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, b := range w.batches[1:] {
				if len(b.Edits) != 0 && len(b.Edits) != 3 {
					t.Errorf("a batch with a part of the swap: %v", b.Edits)
				}
			}
			if len(w.objects) != 2 || !w.has("b", "2") {
				t.Errorf("objects after the swap: %v", w.objects)
			}
		})
	}
}

func TestRootLinkSwapsInOneBatch(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "r1", "a.yaml"), doc("a", "1"))
	write(t, filepath.Join(dir, "r1", "b.yaml"), doc("b", "1"))
	write(t, filepath.Join(dir, "r2", "a.yaml"), doc("a", "2"))
	link := filepath.Join(dir, "current")
	must(t, os.Symlink("r1", link))
	w := start(t, Options{Paths: []string{link}})
	must(t, os.Symlink("r2", link+".new"))
	must(t, os.Rename(link+".new", link))
	w.until("the new release", func() bool { return w.has("a", "2") })
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.batches) != 2 || len(w.batches[1].Edits) != 2 || len(w.objects) != 1 {
		t.Errorf("%d batches, objects %v", len(w.batches), w.objects)
	}
}

func TestLinkedFileIsFollowedWhereItIs(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "elsewhere", "real.yaml")
	write(t, target, doc("a", "1"))
	link := filepath.Join(dir, "conf.yaml")
	must(t, os.Symlink(target, link))
	w := start(t, Options{Paths: []string{link}})
	write(t, target, doc("a", "2"))
	w.until("an edit of the target", func() bool { return w.has("a", "2") })
	write(t, target+".tmp", doc("a", "3"))
	must(t, os.Rename(target+".tmp", target))
	w.until("a replaced target", func() bool { return w.has("a", "3") })
}

func TestPathsThatAreNotThereYet(t *testing.T) {
	dir := t.TempDir()
	file, tree := filepath.Join(dir, "one.conf"), filepath.Join(dir, "tree")
	w := start(t, Options{Paths: []string{file, tree}})
	if r := w.report(); strings.Count(r, "FileUnreadable") != 2 {
		t.Fatalf("findings:\n%s", r)
	}
	write(t, file, doc("a", "1"))
	write(t, filepath.Join(tree, "b.yaml"), doc("b", "1"))
	w.until("both", func() bool { return w.has("a", "1") && w.has("b", "1") && len(w.findings) == 0 })
}

func TestSpecialFilesAndLoopsNeitherBlockNorRepeat(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret.yaml")
	write(t, outside, doc("outside", "1"))
	write(t, filepath.Join(dir, "sub", "a.yaml"), doc("a", "1"))
	must(t, syscall.Mkfifo(filepath.Join(dir, "fifo.yaml"), 0o600))
	listener, err := net.Listen("unix", filepath.Join(dir, "socket.yaml"))
	must(t, err)
	defer listener.Close()
	must(t, os.Mkdir(filepath.Join(dir, "dir.yaml"), 0o700))
	must(t, os.Symlink(dir, filepath.Join(dir, "sub", "absolute-loop")))
	must(t, os.Symlink("..", filepath.Join(dir, "sub", "loop")))
	must(t, os.Symlink("self.yaml", filepath.Join(dir, "self.yaml")))
	must(t, os.Symlink("nowhere", filepath.Join(dir, "dangling.yaml")))
	must(t, os.Symlink(outside, filepath.Join(dir, "escape.yaml")))
	must(t, os.Symlink("/dev/zero", filepath.Join(dir, "zero.yaml")))

	w := start(t, Options{Paths: []string{dir}})
	if len(w.names()) != 1 {
		t.Errorf("objects: %v", w.names())
	}
	got := w.report()
	for _, want := range []string{
		"fifo.yaml:0   FileUnreadable : a FIFO is not read",
		"socket.yaml:0   FileUnreadable : a socket is not read",
		"self.yaml:0   FileUnreadable : the link leads to itself",
		"dangling.yaml:0   FileUnreadable : does not exist",
		"escape.yaml:0   FileUnreadable : the link leads out of the directory",
		"zero.yaml:0   FileUnreadable : the link leads out of the directory",
		"loop:0   DirectoryRepeated : the same directory as " + dir,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no finding %q in:\n%s", want, got)
		}
	}
	fifo := start(t, Options{Paths: []string{filepath.Join(dir, "fifo.yaml")}})
	if r := fifo.report(); !strings.Contains(r, "a FIFO is not read") {
		t.Errorf("a FIFO as a path: %s", r)
	}
	must(t, os.Remove(filepath.Join(dir, "fifo.yaml")))
	write(t, filepath.Join(dir, "fifo.yaml"), doc("b", "1"))
	w.until("a file in the FIFO's place", func() bool { return w.has("b", "1") })
}

func TestUnreadableFileKeepsItsObjects(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	write(t, path, doc("a", "1"))
	w := start(t, Options{Paths: []string{filepath.Dir(path)}})
	// A directory in the file's place is a fault that even root meets.
	large, err := os.Create(filepath.Join(filepath.Dir(path), "b.tmp"))
	must(t, err)
	must(t, large.Truncate(50<<20))
	must(t, large.Close())
	must(t, os.Rename(large.Name(), path))
	w.until("the finding", func() bool { return len(w.findings) == 1 })
	if r := w.report(); !strings.Contains(r, "LimitExceeded : 52428800 bytes: files of at most 33554432 bytes are read; split it (retained true)") {
		t.Errorf("findings:\n%s", r)
	}
	if !w.has("a", "1") {
		t.Error("the object that the file had is gone")
	}
	write(t, path, doc("a", "2"))
	w.until("the repair", func() bool { return w.has("a", "2") && len(w.findings) == 0 })
}

func TestLostEventsAreMadeUpFor(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.yaml"), doc("a", "1"))
	s := New(Options{Paths: []string{dir}})
	now := s.opts.Now()
	s.scan(func(string) {}, now, false)
	s.readDue(now)
	s.batch(now, true)
	write(t, filepath.Join(dir, "a.yaml"), doc("a", "22"))
	write(t, filepath.Join(dir, "sub", "b.yaml"), doc("b", "1"))
	scan, swap := s.handle([]event{{change: overflow}}, now)
	if !scan || swap {
		t.Fatalf("an overflow asks for scan %t, swap %t", scan, swap)
	}
	s.scan(func(string) {}, now, swap)
	s.readDue(now)
	if b := s.batch(now, false); len(b.Edits) != 2 {
		t.Errorf("edits after lost events: %v", b.Edits)
	}
}

func TestDirectoryThatBecomesReadableIsScanned(t *testing.T) {
	dir := t.TempDir()
	s := New(Options{Paths: []string{dir}})
	s.scan(func(string) {}, s.opts.Now(), false)
	e := event{change: attribs, dir: dir, name: "sub", isDir: true}
	if scan, _ := s.handle([]event{e}, s.opts.Now()); scan {
		t.Error("a mode that changes asks for a scan without need")
	}
	s.index.fail(e.path(), unreadable(os.ErrPermission)) // as root, no directory is unreadable
	if scan, _ := s.handle([]event{e}, s.opts.Now()); !scan {
		t.Error("a directory that was unreadable is not looked at again")
	}
}
