package file

import (
	"maps"
	"slices"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// maxAtOnce bounds the text that is in memory at a time.
const maxAtOnce = 64 << 20

// readDue reads the files that are due and tells the index.
func (s *Source) readDue(now time.Time) {
	var group, single []text
	size := 0
	for _, path := range slices.Sorted(maps.Keys(s.pending)) {
		d := s.pending[path]
		if d.at.After(now) || s.mustWait(path, d) {
			continue
		}
		delete(s.pending, path)
		content, ok := s.readFile(path, d, now)
		switch {
		case !ok:
			continue
		case d.together:
			group = append(group, text{path, content})
		default:
			single = append(single, text{path, content})
		}
		if size += len(content); size > maxAtOnce {
			s.take(now, group...)
			s.takeEach(now, single)
			s.finishAll(now)
			group, single, size = nil, nil, 0
		}
	}
	if len(s.pending) == 0 {
		s.pending = map[string]due{} // fresh: to go through a map takes as long as it ever was
	}
	s.take(now, group...)
	s.takeEach(now, single)
	s.settle(now)
}

// settle decides what has been missing in files for long enough. It waits for
// what is being decoded: it may be there.
func (s *Source) settle(now time.Time) {
	if len(s.work) > 0 {
		return
	}
	for path, at := range s.lacking {
		if _, waiting := s.pending[path]; !waiting && !at.After(now) {
			delete(s.lacking, path)
			s.index.settle(path)
		}
	}
}

// readFile reads one file; it returns its content if it is there and whole.
func (s *Source) readFile(path string, d due, now time.Time) ([]byte, bool) {
	if _, away := s.away[path]; away {
		s.tellAway(path, now)
		return nil, false
	}
	r := read(s.roots, path, !d.quiet)
	switch {
	case r.busy:
		s.pending[path] = s.whenWritten(d, now)
	case r.gone && !d.certain:
		s.pending[path] = due{at: now.Add(s.opts.Grace), certain: true}
		s.index.expect(path, true)
	case r.gone && s.lostRoot(path, now):
		delete(s.seen, path)
		s.index.expect(path, false)
	case r.gone:
		delete(s.seen, path)
		s.index.remove(path)
		if p, ok := s.tree.problems[path]; ok {
			s.index.fail(path, p)
		}
	case r.problem != nil:
		delete(s.seen, path)
		s.index.fail(path, *r.problem)
	default:
		s.seen[path] = r.fingerprint
		return r.content, true
	}
	return nil, false
}

// maxTries is how often a file that is open for writing is looked at again soon.
const maxTries = 5

// whenWritten says when to look again at a file that is open for writing. The
// kernel tells of a close a moment before the writer counts as gone, so at first
// that is very soon.
func (s *Source) whenWritten(d due, now time.Time) due {
	if d.tries < maxTries {
		return due{at: now.Add(time.Millisecond << d.tries), tries: d.tries + 1, together: d.together}
	}
	return due{at: now.Add(s.opts.Quiet), quiet: true, together: d.together}
}

// batch returns what changed since the last one.
func (s *Source) batch(now time.Time, initial bool) snapshot.Batch {
	b := s.index.flush(now)
	b.Initial, b.Files = initial, s.fileCount()
	if initial {
		s.index.ledger.retain(func(key store.Key) bool { return len(s.index.byKey[key]) > 0 })
	}
	return b
}

// fileCount is how many files are read, without those that are going.
func (s *Source) fileCount() int {
	n := len(s.seen)
	for path, going := range s.index.going { // few, or none
		if _, seen := s.seen[path]; seen && going {
			n--
		}
	}
	return n
}
