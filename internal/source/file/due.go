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
	var texts []text
	size := 0
	for _, path := range slices.Sorted(maps.Keys(s.pending)) {
		d := s.pending[path]
		if d.at.After(now) {
			continue
		}
		delete(s.pending, path)
		if content, ok := s.readFile(path, d, now); ok {
			texts = append(texts, text{path, content})
			size += len(content)
		}
		if size > maxAtOnce {
			s.set(texts, now)
			texts, size = nil, 0
		}
	}
	s.set(texts, now)
	for path, at := range s.lacking {
		if _, waiting := s.pending[path]; !waiting && !at.After(now) {
			delete(s.lacking, path)
			s.index.settle(path)
		}
	}
}

// readFile reads one file; it returns its content if it is there and whole.
func (s *Source) readFile(path string, d due, now time.Time) ([]byte, bool) {
	r := read(s.roots, path, !d.quiet)
	switch {
	case r.busy:
		s.pending[path] = s.whenWritten(d, now)
	case r.gone && !d.certain:
		s.pending[path] = due{at: now.Add(s.opts.Grace), certain: true}
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
		return due{at: now.Add(time.Millisecond << d.tries), tries: d.tries + 1}
	}
	return due{at: now.Add(s.opts.Quiet), quiet: true}
}

func (s *Source) set(texts []text, now time.Time) {
	for _, t := range texts {
		delete(s.lacking, t.path)
	}
	for _, path := range s.index.set(texts...) {
		s.lacking[path] = now.Add(s.opts.Grace)
	}
}

// batch returns what changed since the last one.
func (s *Source) batch(now time.Time, initial bool) snapshot.Batch {
	b := s.index.flush(now)
	s.files = len(s.seen)
	b.Initial, b.Files = initial, s.files
	if initial {
		s.index.ledger.retain(func(key store.Key) bool { return len(s.index.byKey[key]) > 0 })
	}
	return b
}
