package xdsserve

import "container/heap"

// openHeap holds the records that the proxy has not answered, by the sequence
// number of the Publish that they come from. It implements heap.Interface.
type openHeap []*record

func (h openHeap) Len() int           { return len(h) }
func (h openHeap) Less(i, j int) bool { return h[i].openSeq < h[j].openSeq }
func (h openHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].open, h[j].open = int32(i+1), int32(j+1)
}

// Push implements heap.Interface.
func (h *openHeap) Push(x any) {
	r := x.(*record)
	*h = append(*h, r)
	r.open = int32(len(*h))
}

// Pop implements heap.Interface.
func (h *openHeap) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	r.open = 0
	return r
}

// reopen brings a record's place among the unanswered up to date. A record that
// is open keeps its sequence number until the proxy answers something of it, so
// that a resource that changes all the time cannot look answered.
func (s *session) reopen(r *record) {
	switch want := s.unanswered(r); {
	case want && r.open == 0:
		r.openSeq = s.openingSeq(r)
		heap.Push(&s.open, r)
	case !want && r.open > 0:
		heap.Remove(&s.open, int(r.open-1))
	}
}

// answered is reopen for a record that the proxy has just answered.
func (s *session) answered(r *record) {
	if r.open > 0 {
		heap.Remove(&s.open, int(r.open-1))
	}
	s.reopen(r)
}

func (s *session) openingSeq(r *record) uint64 {
	if r.want == nil {
		return s.seq
	}
	return r.want.seq
}

// unanswered reports whether the proxy still owes an answer for what it should have.
func (s *session) unanswered(r *record) bool {
	switch {
	case r.gone:
		return false
	case r.want == nil:
		return r.kind == listeners && r.touched
	case r.refused != nil || !s.interested(r):
		return false
	default:
		return !r.settledOn(r.want)
	}
}

// settle reports progress: the highest sequence number that is answered in full.
func (s *session) settle() {
	if s.rootsUnasked() {
		return
	}
	level := s.seq
	if len(s.open) > 0 {
		level = s.open[0].openSeq - 1
	}
	if level > s.settled {
		s.settled = level
		s.emit(Event{Kind: Settled, Seq: level})
	}
}

// rootsUnasked reports whether the proxy has yet to ask for a kind that its
// group has resources of.
func (s *session) rootsUnasked() bool {
	for _, k := range []kind{clusters, listeners} {
		if !s.asked[k] && s.catalog.count(s.group, k) > 0 {
			return true
		}
	}
	return false
}
