package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// timeline is one proxy over time, drawn on a plane of percents of the run across and
// pixels down.
type timeline struct {
	ID, Name, How, Facts, Failed, Title, Desc string
	Height                                    int
	Names                                     []shape // what each row is, beside the plane
	Lines, Bands, Dots, Texts                 []shape
	Notes                                     []string
}

// shape is a line, band, dot or text of a drawing.
type shape struct {
	Class, Title, Text string
	X, X2, Y, Y2, W, H string
}

// budget bounds what is drawn of one proxy, so that the whole page stays small.
type budget struct {
	backends int // rows
	bins     int // what is closer than a bin is drawn as one
}

// budgets are what is tried, the most first.
func budgets(proxies int) []budget {
	var out []budget
	for _, bins := range []int{600, 300, 150, 75, 40} {
		out = append(out, budget{backends: min(max(200*bins/300/max(proxies, 1), 10), 40), bins: bins})
	}
	return out
}

// Pixels of the parts of a timeline.
const (
	labelHeight = 15
	failHeight  = 20
	axisHeight  = 20
)

// canvas is a timeline while it is drawn.
type canvas struct {
	timeline

	length lab.Moment
	bins   int
	y      int // the top of what is not drawn yet
}

func timelineOf(r lab.Result, p lab.Proxy, id string, by budget) timeline {
	c := canvas{
		length: max(r.Timeline.Length, 1), bins: by.bins,
		ID: id, Name: p.Name, Failed: p.Failed, How: strings.Join(nonEmpty(p.Program, p.How), " · "),
		Facts: facts(p), Title: "What " + p.Name + " believed over " + Seconds(r.Timeline.Length), Desc: described(p),
	}
	lines := c.steps(r.Timeline, p)
	rows, left := rowsOf(p, by.backends)
	if len(rows) > 0 {
		c.backends(p, rows)
	}
	c.failures(p)
	for i := range lines { // they go down to here
		lines[i].Y2 = strconv.Itoa(c.y)
	}
	c.Lines = append(c.Lines, lines...)
	c.axis()
	c.Height = c.y
	c.notes(p, left)
	return c.timeline
}

func nonEmpty(parts ...string) []string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return out
}

// percentOf is where a moment is across.
func (c *canvas) percentOf(m lab.Moment) float64 {
	return 100 * min(max(float64(m)/float64(c.length), 0), 1)
}

func across(percent float64) string { return strconv.FormatFloat(percent, 'f', 2, 64) + "%" }

func (c *canvas) x(m lab.Moment) string { return across(c.percentOf(m)) }

// facts are the numbers of a proxy in one line.
func facts(p lab.Proxy) string {
	w := p.Wrong.StaleWindow()
	text := "never wrong"
	if w.Max > 0 {
		text = fmt.Sprintf("wrong %s, longest %s: %s backend-seconds missing, %s stale",
			plural(len(p.Wrong.Windows), "time", "times"), Seconds(w.Max), Integral(p.Wrong.MissingSeconds), Integral(p.Wrong.StaleSeconds))
	}
	q := p.Requests
	if q == nil {
		return text
	}
	text += fmt.Sprintf(" · %s of %s failed", Number(q.Failed), plural(q.Due, "request", "requests"))
	if by := FailedBy(*q); by != "" {
		text += " (" + by + ")"
	}
	text += fmt.Sprintf(" · %s in vain, %s retried away", plural(q.InVain, "try", "tries"), Number(q.RetriedAway))
	return text
}

// describedSpans is how many wrong stretches a description lists.
const describedSpans = 12

// described says in words what a timeline shows.
func described(p lab.Proxy) string {
	var parts []string
	for _, wrong := range []struct {
		word  string
		spans []lab.BackendSpan
	}{{"stale", p.Wrong.Stale}, {"missing", p.Wrong.Missing}} {
		for _, s := range wrong.spans[:min(len(wrong.spans), describedSpans)] {
			parts = append(parts, spanTitle(wrong.word, s))
		}
		if more := len(wrong.spans) - describedSpans; more > 0 {
			parts = append(parts, fmt.Sprintf("%s more %s", Number(more), wrong.word))
		}
	}
	return strings.Join(append([]string{facts(p)}, parts...), "; ") + "."
}

func spanTitle(word string, s lab.BackendSpan) string {
	return fmt.Sprintf("%s %s for %s, from %s to %s", s.Backend, word, Seconds(s.To-s.From), clock(s.From), clock(s.To))
}

// clock writes a moment of the run.
func clock(m lab.Moment) string { return fmt.Sprintf("%.2f s", m.Seconds()) }

func (c *canvas) notes(p lab.Proxy, left int) {
	if left > 0 {
		c.Notes = append(c.Notes, plural(left, "backend is", "backends are")+" not drawn, those that were wrong the least.")
	}
	if n := len(p.Belief) + len(p.Truth); n > 2*c.bins {
		c.Notes = append(c.Notes, "Stretches closer than "+Seconds(c.length/lab.Moment(c.bins))+" are drawn as one.")
	}
	if q := p.Requests; q != nil && (q.Failed > len(q.Failures) || q.InVain > len(q.TriesInVain)) {
		c.Notes = append(c.Notes, fmt.Sprintf("The first %s failed requests and %s tries in vain are drawn.", Number(len(q.Failures)), Number(len(q.TriesInVain))))
	}
}
