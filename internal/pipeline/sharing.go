package pipeline

import (
	"context"
	"sync"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
)

// question is a proposal about one published value.
type question struct {
	at       *published
	proposal [32]byte
}

// sharing lets concurrent requests with the same question share one evaluation.
type sharing struct {
	mu   sync.Mutex
	open map[question]*shared
}

// shared is an evaluation in progress.
type shared struct {
	done   chan struct{} // closed when the answer is there
	answer admin.Admission
	err    error
}

// ask answers a question in the caller's goroutine, or waits for another caller that
// does so already. When that one runs out of time, this one answers.
func (s *sharing) ask(ctx context.Context, q question, answer func() (admin.Admission, error)) (admin.Admission, error) {
	for {
		one, mine := s.join(q)
		if mine {
			return s.answer(q, one, answer)
		}
		select {
		case <-one.done:
			if one.err == nil {
				return one.answer, nil
			}
		case <-ctx.Done():
			return admin.Admission{}, outOfTime()
		}
	}
}

func (s *sharing) join(q question) (one *shared, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one = s.open[q]; one != nil {
		return one, false
	}
	one = &shared{done: make(chan struct{}), err: outOfTime()}
	if s.open == nil {
		s.open = map[question]*shared{}
	}
	s.open[q] = one
	return one, true
}

// answer answers for everybody who waits, also when it panics.
func (s *sharing) answer(q question, one *shared, answer func() (admin.Admission, error)) (admin.Admission, error) {
	defer func() {
		s.mu.Lock()
		delete(s.open, q)
		s.mu.Unlock()
		close(one.done)
	}()
	one.answer, one.err = answer()
	return one.answer, one.err
}
