package file

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
)

// pollPeriod is how often everything is looked at when some directory cannot be
// watched, and what cannot be read when there is any.
const pollPeriod = 2 * time.Second

// loop does, one at a time:
//  1. an event marks files as due, now or later, or scans all directories;
//  2. what is due is read, decoded and emitted as one batch; long files are
//     decoded a part at a time, and emitted when all of it is;
//  3. nothing else: it waits for no file, and the ledger is saved elsewhere.
func (s *Source) loop(ctx context.Context, w *watcher, emit func(snapshot.Batch)) {
	blind := s.scanAll(w, s.opts.Now(), false)
	s.readDue(s.opts.Now())
	emit(s.first(s.opts.Now()))
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for ctx.Err() == nil {
		now := s.opts.Now()
		timer.Reset(s.untilNext(now, blind))
		select {
		case <-ctx.Done():
			return
		case events := <-w.events:
			now = s.opts.Now()
			if scan, swap := s.handle(events, now); scan {
				blind = s.scanAll(w, now, swap)
			}
		case <-timer.C:
			now = s.opts.Now()
			if s.mustLook(now, blind) {
				blind = s.scanAll(w, now, false)
			}
		}
		s.readDue(now)
		s.tell(now, emit)
		if s.workOn(now) {
			s.tell(now, emit)
		}
	}
}

// first returns the first batch.
func (s *Source) first(now time.Time) snapshot.Batch {
	s.recallAll()
	b := s.batch(now, true)
	s.files, s.running = b.Files, true
	return b
}

// tell emits what changed. That the number of files changed is told alone only
// when nothing else is coming.
func (s *Source) tell(now time.Time, emit func(snapshot.Batch)) {
	b := s.batch(now, false)
	if isEmpty(b) && (b.Files == s.files || len(s.pending)+len(s.work) > 0) {
		return
	}
	s.files = b.Files
	emit(b)
}

func isEmpty(b snapshot.Batch) bool {
	return len(b.Edits) == 0 && len(b.Origins) == 0 && len(b.Findings) == 0
}

// untilNext returns how long to wait for the next file that is due.
func (s *Source) untilNext(now time.Time, blind bool) time.Duration {
	if len(s.work) > 0 {
		return 0
	}
	next := now.Add(time.Hour)
	if blind || len(s.tree.problems) > 0 {
		next = s.looked.Add(pollPeriod)
	}
	for _, d := range s.pending {
		if d.at.Before(next) {
			next = d.at
		}
	}
	for path, at := range s.lacking {
		if _, waiting := s.pending[path]; !waiting && at.Before(next) {
			next = at
		}
	}
	return max(next.Sub(now), 0)
}

// mustLook reports whether it is time to scan everything although no event asks
// for it: what cannot be read may have changed where nobody watches.
func (s *Source) mustLook(now time.Time, blind bool) bool {
	if now.Sub(s.looked) < pollPeriod {
		return false
	}
	s.looked = now
	return blind || s.tree.changed()
}

// handle marks what events concern. It reports whether everything has to be
// scanned, and whether that is for a swap, after which nothing is in doubt.
func (s *Source) handle(events []event, now time.Time) (scan, swap bool) {
	for _, e := range events {
		switch {
		case e.change == overflow:
			scan = true
			continue
		case s.cannotBeRead(e.path()) && e.change != written && e.change != touched:
			scan = true
			swap = swap || slices.Contains(s.roots, e.path()) && replaces(e)
			continue
		case s.movesTree(e):
			scan = true
			swap = swap || replaces(e)
			continue
		}
		path := e.path()
		if s.isRead(path) {
			s.mark(path, e.change, now)
		}
		for _, link := range s.tree.links[path] {
			s.mark(link, e.change, now)
		}
	}
	return scan, swap
}

// replaces reports whether an event brings a whole tree at once: a directory
// moved into place, or a link, which may have replaced another.
func replaces(e event) bool { return e.change == arrived || e.change == created && !e.isDir }

// cannotBeRead reports whether a path is one that could not be read, or one in a
// root that is away.
func (s *Source) cannotBeRead(path string) bool {
	_, failed := s.tree.problems[path]
	return failed || s.isAway(path)
}

// movesTree reports whether an event changes which files there are in more than
// one place: directories and links come or go.
func (s *Source) movesTree(e event) bool {
	path := e.path()
	_, isDir := s.tree.dirs[path]
	switch {
	case e.change == removed:
		return isDir || slices.Contains(s.roots, path)
	case e.change == attribs: // perhaps a directory can be read now
		return e.isDir && s.index.files[path] != nil
	case e.change != created && e.change != arrived:
		return false
	case slices.Contains(s.roots, path) && e.isDir:
		return true
	case e.isDir:
		return s.tree.dirs[e.dir] && !ignored(e.name)
	case strings.HasPrefix(e.name, ".#"): // the lock of an editor
		return false
	case !s.tree.dirs[e.dir] && e.name != "..data" && !slices.Contains(s.roots, path):
		return false
	}
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// isRead reports whether a path is one that is read as a file.
func (s *Source) isRead(path string) bool {
	if _, known := s.seen[path]; known || slices.Contains(s.roots, path) {
		return true
	}
	e := event{dir: filepath.Dir(path), name: filepath.Base(path)}
	return s.tree.dirs[e.dir] && isConfig(e.name)
}

// mark says when a file is to be read after a change.
func (s *Source) mark(path string, c change, now time.Time) {
	switch c {
	case written, arrived:
		s.pending[path] = due{at: now}
	case touched, created:
		s.pending[path] = due{at: now.Add(s.opts.Quiet), quiet: true}
	case removed:
		s.pending[path] = due{at: now.Add(s.opts.Grace), certain: true}
		s.index.expect(path, true)
	case overflow: // names no file
	case attribs:
		if c := s.index.files[path]; c != nil && c.problem != nil {
			s.pending[path] = due{at: now}
		}
	}
}
