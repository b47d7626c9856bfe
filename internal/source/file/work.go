package file

import (
	"slices"
	"time"
)

// work is files that are being decoded, a part at each turn of the loop, so that
// a long one does not delay the others. What they define counts when all of it
// is decoded: a file's result is never told in part, nor is a swap's.
type work struct {
	drafts []*draft
	jobs   []*freshDocument
	done   int
}

const (
	fewDocuments = 200                    // are decoded at once
	chunk        = 64                     // documents between two looks at the clock
	maxTurn      = 100 * time.Millisecond // that decoding takes while others may wait
)

// take decodes files whose results are told together: now if they are short or
// nobody can be waiting, else in the turns that follow.
func (s *Source) take(now time.Time, texts ...text) {
	if len(texts) == 0 {
		return
	}
	w := &work{}
	for _, t := range texts {
		d, p := draftOf(t.path, s.index.contents(t.path), t.content)
		if p != nil {
			s.index.fail(t.path, *p)
			continue
		}
		w.drafts = append(w.drafts, d)
		for i := range d.fresh {
			w.jobs = append(w.jobs, &d.fresh[i])
		}
	}
	if len(w.jobs) > fewDocuments && s.running {
		s.work = append(s.work, w)
		return
	}
	s.decode(w, len(w.jobs))
	s.finish(w, now)
}

// takeEach decodes files that are told each for itself.
func (s *Source) takeEach(now time.Time, texts []text) {
	if !s.running {
		s.take(now, texts...)
		return
	}
	for _, t := range texts {
		s.take(now, t)
	}
}

func (s *Source) decode(w *work, n int) {
	s.index.decode(w.jobs[w.done : w.done+n])
	w.done += n
}

// workOn decodes for one turn. It reports whether files were finished.
func (s *Source) workOn(now time.Time) (finished bool) {
	end := s.opts.Now().Add(maxTurn)
	for len(s.work) > 0 {
		w := s.work[0]
		s.decode(w, min(chunk, len(w.jobs)-w.done))
		if w.done == len(w.jobs) {
			s.work = slices.Delete(s.work, 0, 1)
			s.finish(w, now)
			for _, d := range w.drafts { // whatever became of it meanwhile
				s.pending[d.path] = due{at: now}
			}
			finished = true
		}
		if finished || !s.opts.Now().Before(end) {
			break
		}
	}
	return finished
}

// finishAll decodes everything that waits.
func (s *Source) finishAll(now time.Time) {
	for _, w := range s.work {
		s.decode(w, len(w.jobs)-w.done)
		s.finish(w, now)
	}
	s.work = nil
}

// finish tells the index what the files of a work hold.
func (s *Source) finish(w *work, now time.Time) {
	for _, d := range w.drafts {
		delete(s.lacking, d.path)
		if s.index.put(d) {
			s.lacking[d.path] = now.Add(s.opts.Grace)
		}
	}
}

// mustWait reports whether a file cannot be looked at while others are decoded:
// because it is one of them, or because what it lacks may be in them.
func (s *Source) mustWait(path string, d due) bool {
	if len(s.work) > 0 && d.certain {
		return true
	}
	return slices.ContainsFunc(s.work, func(w *work) bool {
		return slices.ContainsFunc(w.drafts, func(d *draft) bool { return d.path == path })
	})
}
