package file

import (
	"os"
	"slices"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// scanAll lists all directories anew and watches them. It reports whether some
// cannot be watched.
func (s *Source) scanAll(w *watcher, now time.Time, swap bool) (blind bool) {
	s.scan(func(dir string) {
		if err := w.add(dir); err != nil && isDir(dir) {
			blind = true
			s.opts.Log.Warn("directory cannot be watched, looking at it every 2 s", observe.KeyPath, dir, observe.KeyError, err)
		}
	}, now, swap)
	w.keep(s.tree.dirs)
	return blind
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// scan marks the files that changed since they were read. After a swap what is
// missing is deleted at once; in a root that has come back, after a quiet while.
func (s *Source) scan(watch func(string), now time.Time, swap bool) {
	s.tree = walk(s.roots, watch)
	back := s.checkRoots(now)
	gone := due{at: now.Add(s.opts.Grace), certain: true, together: true}
	switch {
	case swap:
		gone.at = now
	case back:
		gone.at = now.Add(s.opts.Quiet)
	}
	for path, fp := range s.tree.files {
		if s.seen[path] != fp {
			s.pending[path] = due{at: now, together: true}
		}
	}
	for path := range s.index.files {
		if _, isFile := s.tree.files[path]; !isFile {
			s.miss(path, gone, swap)
		}
	}
	for path, p := range s.tree.problems {
		if c := s.index.files[path]; !slices.Contains(s.roots, path) && (c == nil || !p.absent) {
			delete(s.seen, path)
			s.index.fail(path, p)
		}
	}
	for _, root := range s.roots {
		s.tellAway(root, now)
	}
}

// miss decides about a path that is known and is no file to read.
func (s *Source) miss(path string, gone due, swap bool) {
	p, failed := s.tree.problems[path]
	_, waiting := s.pending[path]
	switch {
	case s.isAway(path):
		delete(s.seen, path)
		delete(s.pending, path)
		s.index.expect(path, false)
	case failed && !p.absent:
	case s.tree.dirs[path], len(s.index.files[path].entries()) == 0 && !failed:
		delete(s.seen, path)
		delete(s.pending, path)
		s.index.remove(path)
	case swap, !waiting:
		s.pending[path] = gone
		s.index.expect(path, true)
	}
}
