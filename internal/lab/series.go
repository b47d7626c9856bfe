package lab

import (
	"cmp"
	"math"
	"slices"
)

// series collects when one thing held, for all backends, in order of From. Spans that
// still hold end at the end of time. A span that was over in the moment it began stays
// as an empty one: the places of the others must not move.
type series struct {
	blocks []*block // so that growing copies nothing
	n      int32    // how many spans there are
}

const blockSize = 512

type block [blockSize]BackendSpan

// cursor is one backend's place in a series.
type cursor struct {
	level      Level // how far it holds now
	open, last int32 // 1 + the index of the span that holds now, and of the last that is not empty
}

const endless = Moment(math.MaxInt64)

// turn records that it holds for backend to level from at on.
func (s *series) turn(c *cursor, at Moment, backend string, level Level) {
	if c.level == level {
		return
	}
	if c.level != None {
		s.end(c, at)
	}
	if level != None {
		s.begin(c, at, backend, level == Partly)
	}
	c.level = level
}

func (s *series) end(c *cursor, at Moment) {
	span := s.span(c.open - 1)
	span.To = at
	switch {
	case span.From < at:
		c.last = c.open
	case c.open == s.n:
		s.n--
	}
}

// begin goes on with the last span when it ended just now and was the same.
func (s *series) begin(c *cursor, at Moment, backend string, partly bool) {
	if c.last > 0 {
		if last := s.span(c.last - 1); last.To == at && last.Partly == partly {
			last.To = endless
			c.open = c.last
			return
		}
	}
	if int(s.n) == len(s.blocks)*blockSize {
		s.blocks = append(s.blocks, new(block))
	}
	*s.span(s.n) = BackendSpan{Backend: backend, From: at, To: endless, Partly: partly}
	s.n++
	c.open = s.n
}

func (s *series) span(i int32) *BackendSpan { return &s.blocks[i/blockSize][i%blockSize] }

// until returns the spans that are not empty, cut at end, in order of From, then Backend.
func (s *series) until(end Moment) []BackendSpan {
	spans := make([]BackendSpan, 0, s.n)
	for i := range s.n {
		span := *s.span(i)
		span.To = min(span.To, end)
		if span.From < span.To {
			spans = append(spans, span)
		}
	}
	for rest := spans; len(rest) > 0; {
		same := 1
		for same < len(rest) && rest[same].From == rest[0].From {
			same++
		}
		slices.SortFunc(rest[:same], byBackend)
		rest = rest[same:]
	}
	return spans
}

func byBackend(a, b BackendSpan) int { return cmp.Compare(a.Backend, b.Backend) }
