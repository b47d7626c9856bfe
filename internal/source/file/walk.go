package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// tree is what the configured paths hold at one moment.
type tree struct {
	// files are the paths to read, with what tells that they changed.
	files map[string]fingerprint
	// problems are paths that should be read and cannot be.
	problems map[string]problem
	// sights are what they look like, to notice when that changes.
	sights map[string]sight
	// dirs are the directories whose events matter; those that are read are true.
	dirs map[string]bool
	// links are files that are links, by the path that they lead to.
	links map[string][]string

	visited map[fileID]string // directories read, to enter each once
	watch   func(dir string)
}

// walk lists what paths, which are clean, hold. It calls watch for each directory before reading
// it, so that no change falls between the two.
func walk(paths []string, watch func(dir string)) *tree {
	t := &tree{
		files: map[string]fingerprint{}, problems: map[string]problem{}, sights: map[string]sight{}, dirs: map[string]bool{},
		links: map[string][]string{}, visited: map[fileID]string{},
		watch: watch,
	}
	for _, path := range paths {
		t.addRoot(path)
	}
	return t
}

func (t *tree) watchDir(dir string, read bool) {
	if _, watched := t.dirs[dir]; !watched {
		t.watch(dir)
	}
	t.dirs[dir] = t.dirs[dir] || read
}

// addRoot adds a path that the user named. Its parent is watched too, for the
// path itself may be replaced, or appear later.
func (t *tree) addRoot(path string) {
	t.watchDir(filepath.Dir(path), false)
	info, err := os.Stat(path)
	switch {
	case err != nil:
		t.fail(path, unreadable(err))
	case info.IsDir():
		t.addDirRoot(path, info)
	default:
		t.addFile(path, info)
		if link, err := os.Lstat(path); err == nil && link.Mode()&fs.ModeSymlink != 0 {
			t.addLink(path)
		}
	}
}

func (t *tree) addDirRoot(path string, info fs.FileInfo) {
	root, err := os.OpenRoot(path)
	if err != nil {
		t.fail(path, unreadable(err))
		return
	}
	defer root.Close()
	t.addDir(root, path, ".", info, 0)
}

// maxDirDepth bounds how deep directories are entered.
const maxDirDepth = 64

// addDir reads one directory of a root; rel is its path inside the root.
func (t *tree) addDir(root *os.Root, base, rel string, info fs.FileInfo, depth int) {
	path := filepath.Join(base, rel)
	id := idOf(info)
	if first, seen := t.visited[id]; seen {
		if first != path {
			t.fail(path, problem{reason: DirectoryRepeated, message: fmt.Sprintf("the same directory as %s, which is read already; remove the link", first)})
		}
		return
	}
	if depth > maxDirDepth {
		t.fail(path, problem{reason: FileUnreadable, message: fmt.Sprintf("nested more than %d directories deep; move it up", maxDirDepth)})
		return
	}
	t.visited[id] = path
	t.watchDir(path, true)
	entries, err := readDir(root, rel)
	if err != nil {
		t.fail(path, unreadable(err))
	}
	for _, e := range entries {
		t.addEntry(root, base, filepath.Join(rel, e.Name()), e, depth)
	}
}

func readDir(root *os.Root, rel string) ([]fs.DirEntry, error) {
	dir, err := root.Open(rel)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

func (t *tree) addEntry(root *os.Root, base, rel string, e fs.DirEntry, depth int) {
	if ignored(e.Name()) {
		return
	}
	path := filepath.Join(base, rel)
	isLink := e.Type()&fs.ModeSymlink != 0
	if !e.IsDir() && !isLink && !isConfig(e.Name()) {
		return
	}
	info, err := root.Stat(rel)
	switch {
	case err == nil && info.IsDir():
		t.addDir(root, base, rel, info, depth+1)
		return
	case !isConfig(e.Name()), errors.Is(err, fs.ErrNotExist) && !isLink:
		return // a link to some other file, or deleted meanwhile
	case err != nil:
		t.fail(path, unreadable(err))
	default:
		t.addFile(path, info)
	}
	if isLink {
		t.addLink(path)
	}
}

func (t *tree) addFile(path string, info fs.FileInfo) {
	if !info.Mode().IsRegular() {
		t.fail(path, notRegular(info.Mode()))
		return
	}
	t.files[path] = fingerprintOf(info)
}

// addLink watches where a linked file really is.
func (t *tree) addLink(path string) {
	target, err := filepath.EvalSymlinks(path)
	if err != nil || target == path {
		return
	}
	t.links[target] = append(t.links[target], path)
	t.watchDir(filepath.Dir(target), false)
}

// ignored reports whether a name is hidden or an editor's temporary file.
func ignored(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "#") ||
		strings.HasSuffix(name, "~") || strings.HasSuffix(name, ".swp") || strings.HasSuffix(name, ".tmp")
}

// isConfig reports whether a file of this name is read in a directory.
func isConfig(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".yaml", ".yml", ".json":
		return !ignored(name)
	}
	return false
}
