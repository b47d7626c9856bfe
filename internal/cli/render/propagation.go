package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/report"
)

// Propagation returns what a run of the propagation laboratory found: what each proxy
// believed at each step, a row for each proxy, and a few sentences that read them.
func Propagation(s Style, r lab.Result) string {
	var b strings.Builder
	b.WriteString(steps(s, r))
	for _, t := range []struct {
		Table
		note string
	}{{wrongTable(r), report.Resolution(r)}, {requestTable(r), ""}} {
		if text := t.Render(s); text != "" {
			b.WriteString("\n" + text)
		}
		if t.note != "" {
			b.WriteString(s.Paint(Dim, t.note) + "\n")
		}
	}
	b.WriteByte('\n')
	for _, sentence := range report.Reading(r) {
		hang(&b, s.wrap(sentence, s.width()), 0)
	}
	return b.String()
}

// widestName is the most that the name of a proxy takes of a line with numbers; a
// longer one has a line of its own.
const widestName = 26

// proxyRows adds the rows of one proxy: its name, numbers, and what is to say below.
func (t *Table) proxyRows(name string, numbers []string, below ...string) {
	row := []Cell{T(name)}
	if columns(name) > widestName && len(numbers) > 0 {
		t.Rows, t.Below = append(t.Rows, row), append(t.Below, nil)
		row = []Cell{T("")}
	}
	for _, n := range numbers {
		row = append(row, T(n))
	}
	if len(numbers) > 0 {
		row = append(row, T("")) // the last column is never aligned
	}
	t.Rows, t.Below = append(t.Rows, row), append(t.Below, nonEmpty(below...))
}

// alignRight fills up the columns after the first, so that numbers end below each other.
func (t *Table) alignRight() {
	header := headerCells(t.Header)
	widths := columnWidths(slices.Insert(slices.Clone(t.Rows), 0, header))
	for _, row := range t.Rows {
		for j := 1; j < len(row)-1; j++ {
			row[j].Text = strings.Repeat(" ", widths[j]-columns(row[j].Text)) + row[j].Text
		}
	}
	for j := 1; j < len(t.Header)-1; j++ {
		t.Header[j] = strings.Repeat(" ", widths[j]-columns(t.Header[j])) + t.Header[j]
	}
}

func wrongTable(r lab.Result) Table {
	t := Table{Header: []string{"WRONG VIEW", "P50", "P99", "LONGEST", "MISSING", "STALE", "UPDATES"}}
	costs := slices.ContainsFunc(r.Proxies, func(p lab.Proxy) bool { return p.Cost != nil })
	if costs {
		t.Header = append(t.Header, "CPU", "MEMORY")
	}
	t.Header = append(t.Header, "")
	for _, p := range r.Proxies {
		if p.Skipped != "" {
			t.proxyRows(p.Name, nil, "not run: "+p.Skipped)
			continue
		}
		w := p.Wrong.StaleWindow()
		numbers := []string{
			report.Seconds(w.P50), report.Seconds(w.P99), report.Seconds(w.Max),
			report.Integral(p.Wrong.MissingSeconds), report.Integral(p.Wrong.StaleSeconds), report.Number(p.Updates),
		}
		if costs {
			numbers = append(numbers, spent(p.Cost)...)
		}
		t.proxyRows(p.Name, numbers, failure(p))
	}
	t.alignRight()
	return t
}

func spent(c *lab.Cost) []string {
	if c == nil {
		return []string{"", ""}
	}
	return []string{fmt.Sprintf("%.2f s", c.Propagation), report.Memory(c.Memory)}
}

func failure(p lab.Proxy) string {
	if p.Failed == "" {
		return ""
	}
	return "ended early: " + p.Failed
}

func requestTable(r lab.Result) Table {
	t := Table{Header: []string{"REQUESTS", "DUE", "ANSWERED", "FAILED", "IN VAIN", "RETRIED", "P50", "P99", "MAX", ""}}
	for _, p := range r.Proxies {
		q := p.Requests
		if q == nil {
			continue
		}
		l := q.Latency
		t.proxyRows(p.Name, []string{
			report.Number(q.Due), report.Number(q.Answered), report.Number(q.Failed),
			report.Number(q.InVain), report.Number(q.RetriedAway),
			report.Seconds(l.P50), report.Seconds(l.P99), report.Seconds(l.Max),
		}, report.Beside(*q))
	}
	t.alignRight()
	return t
}
