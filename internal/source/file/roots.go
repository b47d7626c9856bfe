package file

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// Law: nothing is deleted because a path that the user named cannot be looked
// into. A root is away while it does not exist or cannot be read, and, after
// that or when its file system changed, until it holds a file again: a mount
// that is gone leaves an empty directory. While it is away what it held stays in
// force.

// checkRoots decides, after a walk, which roots are away. It reports whether one
// is back.
func (s *Source) checkRoots(now time.Time) (back bool) {
	for _, root := range s.roots {
		_, failed := s.tree.problems[root]
		_, wasAway := s.away[root]
		device := look(root).target.device
		if !failed && (wasAway || s.devices[root] != 0 && s.devices[root] != device) && !s.tree.holds(root) && s.objectsOf(root) > 0 {
			failed = true
			s.tree.fail(root, problem{reason: FileUnreadable, message: "has come back empty, perhaps a file system is not mounted", keeps: true})
		}
		switch {
		case failed && !wasAway:
			s.away[root] = now
		case !failed:
			back = back || wasAway
			if s.tree.dirs[root] {
				delete(s.pending, root)
			}
			delete(s.away, root)
			s.devices[root] = device
		}
	}
	return back
}

// tellAway makes the finding of a root that is away: at once if nothing of it is
// in force, else when it has been away for the grace.
func (s *Source) tellAway(root string, now time.Time) {
	p, failed := s.tree.problems[root]
	since, away := s.away[root]
	if !failed || !away {
		return
	}
	n := s.objectsOf(root)
	if tell := since.Add(s.opts.Grace); n > 0 && now.Before(tell) {
		s.pending[root] = due{at: tell, certain: true}
		return
	}
	if n > 0 {
		cause, _, _ := strings.Cut(p.message, ";")
		stays, until := fmt.Sprintf("its %d objects stay", n), "it is back"
		if n == 1 {
			stays = "its 1 object stays"
		}
		if p.keeps {
			until = "it holds a file"
		}
		p.message, p.keeps = fmt.Sprintf("%s; %s in force until %s", cause, stays, until), true
	}
	s.index.fail(root, p)
}

// isAway reports whether a path belongs to a root that is away.
func (s *Source) isAway(path string) bool {
	for root := range s.away {
		if within(root, path) {
			return true
		}
	}
	return false
}

// lostRoot looks whether a root of a missing path is missing too, which no event
// has told: its parent was moved, say.
func (s *Source) lostRoot(path string, now time.Time) bool {
	for _, root := range s.roots {
		if !within(root, path) {
			continue
		}
		if _, err := os.Stat(root); err != nil {
			s.tree.fail(root, unreadable(err))
			s.away[root] = now
			s.tellAway(root, now)
			return true
		}
	}
	return false
}

// objectsOf counts the objects in force that a root defines.
func (s *Source) objectsOf(root string) (n int) {
	for _, h := range s.index.inForce {
		if within(root, h.origin.File) {
			n++
		}
	}
	return n
}

// holds reports whether a root has a file to read.
func (t *tree) holds(root string) bool {
	for path := range t.files {
		if within(root, path) {
			return true
		}
	}
	return false
}

// within reports whether a clean path is a root or lies under it.
func within(root, path string) bool {
	rest, ok := strings.CutPrefix(path, root)
	switch {
	case root == ".":
		return !strings.HasPrefix(path, "../") && !strings.HasPrefix(path, "/")
	case !ok:
		return false
	}
	return rest == "" || rest[0] == '/' || root == "/"
}
