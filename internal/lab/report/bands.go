package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// spansOf is what is known of one backend of one proxy.
type spansOf struct {
	backend                                string
	first                                  lab.Moment
	wrong                                  lab.Moment
	truth, serving, belief, missing, stale []lab.BackendSpan
	inVain                                 []lab.TryInVain
}

// rowsOf returns the backends to draw in order of their first time, and how many are
// left out: those that were wrong the least.
func rowsOf(p lab.Proxy, limit int) (rows []*spansOf, left int) {
	byName := make(map[string]*spansOf)
	of := func(backend string, from lab.Moment) *spansOf {
		s, known := byName[backend]
		if !known {
			s = &spansOf{backend: backend, first: from}
			byName[backend] = s
			rows = append(rows, s)
		}
		s.first = min(s.first, from)
		return s
	}
	each := func(spans []lab.BackendSpan, add func(s *spansOf, span lab.BackendSpan)) {
		for _, span := range spans {
			add(of(span.Backend, span.From), span)
		}
	}
	each(p.Truth, func(s *spansOf, b lab.BackendSpan) { s.truth = append(s.truth, b) })
	each(p.Serving, func(s *spansOf, b lab.BackendSpan) { s.serving = append(s.serving, b) })
	each(p.Belief, func(s *spansOf, b lab.BackendSpan) { s.belief = append(s.belief, b) })
	each(p.Wrong.Missing, func(s *spansOf, b lab.BackendSpan) { s.missing, s.wrong = append(s.missing, b), s.wrong+b.To-b.From })
	each(p.Wrong.Stale, func(s *spansOf, b lab.BackendSpan) { s.stale, s.wrong = append(s.stale, b), s.wrong+b.To-b.From })
	if p.Requests != nil {
		for _, a := range p.Requests.TriesInVain {
			s := of(a.Backend, a.At)
			s.inVain = append(s.inVain, a)
		}
	}
	slices.SortStableFunc(rows, func(a, b *spansOf) int { return cmp.Compare(b.wrong, a.wrong) })
	left = max(0, len(rows)-limit)
	rows = rows[:len(rows)-left]
	slices.SortFunc(rows, func(a, b *spansOf) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.backend, b.backend))
	})
	return rows, left
}

// lane is where the parts of one row are, in pixels from its top.
type lane struct {
	height, truth, truthHigh, belief, beliefHigh, tries, triesHigh int
	words                                                          bool
}

// Rows of few backends have room for words; rows of many do not.
var (
	roomy = lane{height: 34, truth: 5, truthHigh: 6, belief: 14, beliefHigh: 12, tries: 26, triesHigh: 6, words: true}
	dense = lane{height: 15, truth: 1, truthHigh: 3, belief: 5, beliefHigh: 6, tries: 10, triesHigh: 4}
)

// manyRows are too many to be roomy.
const manyRows = 16

func (c *canvas) backends(p lab.Proxy, rows []*spansOf) {
	l := roomy
	if len(rows) > manyRows {
		l = dense
	}
	for _, s := range rows {
		c.Names = append(c.Names, shape{
			Class: "backend", Y: strconv.Itoa(c.y + l.belief + l.beliefHigh/2 + 2), Text: Short(s.backend, 18), Title: s.backend,
		})
		c.Lines = append(c.Lines, shape{Class: "row", X: "0%", X2: "100%", Y: strconv.Itoa(c.y), Y2: strconv.Itoa(c.y)})
		c.row(s, l)
		c.y += l.height
	}
	c.Lines = append(c.Lines, shape{Class: "row", X: "0%", X2: "100%", Y: strconv.Itoa(c.y), Y2: strconv.Itoa(c.y)})
}

func (c *canvas) row(s *spansOf, l lane) {
	c.bands("grace", "removed, but still serving", graces(s.serving, s.truth), l.truth, l.truthHigh)
	c.bands("truth", "routable", s.truth, l.truth, l.truthHigh)
	whole, partly := split(s.belief)
	c.bands("belief", "believed", whole, l.belief, l.beliefHigh)
	c.bands("partly", "believed by some workers", partly, l.belief, l.beliefHigh)
	c.wrong("missing", s.missing, l)
	c.wrong("stale", s.stale, l)
	c.tries(s, l)
	if l.words {
		c.words(s, l)
	}
}

// graces are what is left of serving after the truth has ended.
func graces(serving, truth []lab.BackendSpan) []lab.BackendSpan {
	var out []lab.BackendSpan
	for _, s := range serving {
		from := lab.Moment(-1)
		for _, t := range truth {
			if t.From < s.To && t.To > s.From {
				from = max(from, t.To)
			}
		}
		if from >= 0 && from < s.To {
			s.From = from
			out = append(out, s)
		}
	}
	return out
}

// wrong draws paler what was so for some workers only.
func (c *canvas) wrong(word string, spans []lab.BackendSpan, l lane) {
	whole, partly := split(spans)
	c.bands(word+" some", word+" for some workers", partly, l.belief, l.beliefHigh)
	c.bands(word, word, whole, l.belief, l.beliefHigh)
}

func split(spans []lab.BackendSpan) (whole, partly []lab.BackendSpan) {
	for _, s := range spans {
		if s.Partly {
			partly = append(partly, s)
		} else {
			whole = append(whole, s)
		}
	}
	return whole, partly
}

// leastWidth is how many percent of the run something takes at least, to be seen.
const leastWidth = 0.2

func (c *canvas) bands(class, word string, spans []lab.BackendSpan, y, high int) {
	for spans := range runs(spans, c.length/lab.Moment(c.bins)) {
		first, last := spans[0], spans[len(spans)-1]
		width := c.percentOf(last.To) - c.percentOf(first.From)
		s := shape{
			Class: class, X: c.x(first.From), W: across(max(width, leastWidth)),
			Y: strconv.Itoa(c.y + y), H: strconv.Itoa(high),
		}
		switch {
		case len(spans) > 1:
			s.Title = fmt.Sprintf("%s %s %s times, from %s to %s", first.Backend, word, Number(len(spans)), clock(first.From), clock(last.To))
		default:
			s.Title = spanTitle(word, first)
		}
		c.Bands = append(c.Bands, s)
	}
}

// runs yields spans together that are closer than gap to each other.
func runs(spans []lab.BackendSpan, gap lab.Moment) func(yield func([]lab.BackendSpan) bool) {
	return func(yield func([]lab.BackendSpan) bool) {
		for len(spans) > 0 {
			n := 1
			for n < len(spans) && spans[n].From > spans[n-1].To && spans[n].From-spans[n-1].To < gap {
				n++
			}
			if !yield(spans[:n]) {
				return
			}
			spans = spans[n:]
		}
	}
}

// wordWidth is how many percent of the run a wrong stretch takes at least to have its
// word written.
const wordWidth = 6.5

func (c *canvas) words(s *spansOf, l lane) {
	write := func(spans []lab.BackendSpan, word, class string, y int) {
		for _, span := range joined(spans) {
			from, to := c.percentOf(span.From), c.percentOf(span.To)
			if to-from < wordWidth {
				continue
			}
			text := shape{Class: class + " mid word", X: across((from + to) / 2), Y: strconv.Itoa(c.y + y), Text: word}
			if to-from < 4*wordWidth { // too narrow for a telephone
				text.Class += " wide"
			}
			c.Texts = append(c.Texts, text)
		}
	}
	write(s.missing, "missing", "m", l.belief+l.beliefHigh-2)
	write(s.stale, "stale", "s", l.belief-2)
}

// joined makes one of spans that touch.
func joined(spans []lab.BackendSpan) []lab.BackendSpan {
	var out []lab.BackendSpan
	for _, s := range spans {
		if n := len(out); n > 0 && out[n-1].To == s.From {
			out[n-1].To = s.To
		} else {
			out = append(out, s)
		}
	}
	return out
}
