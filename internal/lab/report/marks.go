package report

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// manyLines is how many steps are drawn as lines at most.
const manyLines = 120

// labelRows is how many labels of steps may stand above each other.
const labelRows = 3

// steps writes the labels of what changes and returns the lines, whose ends are not
// known yet. Reloads are drawn for proxies that reload.
func (c *canvas) steps(t lab.Timeline, p lab.Proxy) []shape {
	var lines []shape
	wide, narrow := newShelf(), newShelf()
	last := math.Inf(-1)
	var belief []lab.BackendSpan
	if p.Model == lab.ModelReload && t.Reload.OnChange { // reloads are no events of the script
		belief = p.Belief
	}
	for events, at := range moments(t, belief) {
		events = concerning(events, p)
		x := c.percentOf(at)
		if len(events) == 0 || x-last < 100.0/manyLines {
			continue
		}
		last = x
		class, label := "step", stepLabel(events)
		if events[0].Kind == lab.Reload {
			class = "reload"
		}
		line := shape{Class: class, X: across(x), X2: across(x), Title: what(events, whatRoom) + " at " + clock(at)}
		if row, ok := c.label(wide, "wide", x, label, 0.66); ok {
			line.Y = strconv.Itoa(row*labelHeight + 3)
		}
		lines = append(lines, line)
		c.label(narrow, "narrow", x, short(events), 4)
	}
	c.y = max(wide.used, narrow.used)*labelHeight + 4
	for i := range lines {
		lines[i].Y = cmp.Or(lines[i].Y, strconv.Itoa(c.y))
	}
	return lines
}

// concerning leaves out the reloads that this proxy takes no notice of.
func concerning(events []lab.Event, p lab.Proxy) []lab.Event {
	var out []lab.Event
	for _, e := range events {
		if e.Kind != lab.Reload || p.Model == lab.ModelReload && (e.Proxy == "" || e.Proxy == p.Name) {
			out = append(out, e)
		}
	}
	return out
}

var signs = map[lab.Kind]string{lab.Add: "+", lab.Remove: "−", lab.Lose: "×", lab.Reload: "↻"}

// labelRoom is how wide the names of backends in a label may be.
const labelRoom = 16

func stepLabel(events []lab.Event) string {
	var parts []string
	for _, g := range alike(events) {
		verb := signs[g.kind]
		if g.kind == lab.Reload || g.kind == lab.Lose {
			verb = string(g.kind)
		}
		parts = append(parts, g.words(verb, labelRoom))
	}
	return strings.Join(parts, " ")
}

func short(events []lab.Event) string { return signs[events[0].Kind] }

// shelf puts labels where they cover no other.
type shelf struct {
	ends []float64 // of each row, in percent
	used int
}

func newShelf() *shelf { return &shelf{ends: make([]float64, labelRows)} }

func (s *shelf) place(from, to float64) (row int, ok bool) {
	for i, end := range s.ends {
		if from >= end {
			s.ends[i] = to
			s.used = max(s.used, i+1)
			return i, true
		}
	}
	return 0, false
}

// label writes a text beside a line if there is room; perRune is how many percent of the
// run a character takes. It returns the row.
func (c *canvas) label(on *shelf, class string, x float64, text string, perRune float64) (row int, ok bool) {
	width := perRune*float64(utf8.RuneCountInString(text)) + 0.8
	from, anchor, offset := x, "", 0.35
	if x+width > 100 {
		from, anchor, offset = x-width, " end", -0.35
	}
	if row, ok = on.place(from, from+width); ok {
		c.Texts = append(c.Texts, shape{Class: "label " + class + anchor, X: across(x + offset), Y: strconv.Itoa(row*labelHeight + 12), Text: text})
	}
	return row, ok
}

// axis draws the time.
func (c *canvas) axis() {
	c.Lines = append(c.Lines, shape{Class: "axis", X: "0%", X2: "100%", Y: strconv.Itoa(c.y), Y2: strconv.Itoa(c.y)})
	step := tickStep(c.length.Seconds())
	for i := 0; ; i++ {
		at := lab.Moment(float64(i) * step * 1e9)
		if at > c.length {
			break
		}
		x := c.percentOf(at)
		c.Lines = append(c.Lines, shape{Class: "axis", X: across(x), X2: across(x), Y: strconv.Itoa(c.y), Y2: strconv.Itoa(c.y + 4)})
		c.Texts = append(c.Texts, c.tick(i, x, fmt.Sprintf("%g s", float64(i)*step)))
	}
	c.y += axisHeight
}

// tick writes every second time only where there is little room.
func (c *canvas) tick(i int, x float64, text string) shape {
	s := shape{Class: "mid", X: across(x), Y: strconv.Itoa(c.y + 16), Text: text}
	switch {
	case i == 0:
		s.Class = ""
	case x > 97:
		s.Class = "end"
	}
	if i%2 == 1 {
		s.Class += " wide"
	}
	return s
}

// tickStep is 1, 2 or 5 of a power of ten, so that there are 5 to 12 ticks.
func tickStep(seconds float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(max(seconds, 1e-6)/5)))
	for _, n := range []float64{1, 2, 5} {
		if seconds/(n*power) <= 12 {
			return n * power
		}
	}
	return 10 * power
}
