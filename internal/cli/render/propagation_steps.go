package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/report"
)

// How many steps are shown, with a column for each proxy and with lines for each.
const (
	manySteps   = 40
	fewSteps    = 20
	fullSets    = 60 // the widest set that is written out in a column
	shortenSets = 22
)

// steps returns what each proxy believed at each step: in a column of its own as in the
// seed's table where that fits, else with those together that believed the same.
func steps(s Style, r lab.Result) string {
	all, more := report.Steps(r, manySteps)
	if len(all) == 0 {
		return ""
	}
	for _, room := range []int{fullSets, shortenSets} {
		if t := stepColumns(all, room); t.wide(s) <= s.width() {
			return t.Render(s) + moreSteps(s, more) + settled(s, r)
		}
	}
	shown := all[:min(len(all), fewSteps)]
	return stepLines(shown).Render(s) + moreSteps(s, more+len(all)-len(shown)) + settled(s, r)
}

// wide is how many columns of text the widest row of the table takes.
func (t Table) wide(s Style) int {
	var widths []int
	for _, row := range slices.Insert(slices.Clone(t.Rows), 0, headerCells(t.Header)) {
		for j, cell := range row {
			if j == len(widths) {
				widths = append(widths, 0)
			}
			widths[j] = max(widths[j], columns(s.Text(cell.Text)))
		}
	}
	total := gap * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	return total
}

func moreSteps(s Style, n int) string {
	if n == 0 {
		return ""
	}
	return s.Text(fmt.Sprintf("… %s more (-o json has all)", Count(n, "step"))) + "\n"
}

func settled(s Style, r lab.Result) string {
	real := slices.ContainsFunc(r.Proxies, func(p lab.Proxy) bool { return p.Program != "" && p.Skipped == "" })
	if !real || r.Settle == 0 {
		return ""
	}
	return s.Paint(Dim, "beliefs are those "+report.Seconds(r.Settle)+" after the step") + "\n"
}

func stepColumns(all []report.Step, room int) Table {
	t := Table{Header: []string{"TIME", "STEP", "TRUTH"}}
	for _, b := range all[0].Beliefs {
		t.Header = append(t.Header, b.Proxy)
	}
	for _, step := range all {
		row := []Cell{T(when(step.At)), T(step.What), T(report.Names(step.Truth, room))}
		for _, b := range step.Beliefs {
			row = append(row, beliefCell(b, room))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func beliefCell(b report.Belief, room int) Cell {
	text := report.Names(b.Backends, room)
	if b.Wrong() {
		return Cell{text + "  STALE", Red}
	}
	return T(text)
}

// when writes the time of a step.
func when(at lab.Moment) string { return fmt.Sprintf("%.1f s", at.Seconds()) }

// stepLines has a row for the truth of each step, one for all proxies that are right,
// and one for those that are wrong in the same way.
func stepLines(all []report.Step) Table {
	t := Table{Header: []string{"TIME", "STEP", "", "BELIEVED"}}
	for _, step := range all {
		t.Rows = append(t.Rows, []Cell{T(when(step.At)), T(step.What), T("truth"), T(report.Names(step.Truth, shortenSets))})
		if right := rightProxies(step); len(right) > 0 {
			t.Rows = append(t.Rows, []Cell{T(""), T(""), T("right"), {together(right), Green}})
		}
		for _, group := range wrongProxies(step) {
			t.Rows = append(t.Rows, []Cell{T(""), T(""), {"STALE", Red}, {group, Red}})
		}
	}
	return t
}

func rightProxies(step report.Step) []string {
	var names []string
	for _, b := range step.Beliefs {
		if !b.Wrong() {
			names = append(names, b.Proxy)
		}
	}
	return names
}

func wrongProxies(step report.Step) []string {
	var groups []string
	members := make(map[string][]string)
	for _, b := range step.Beliefs {
		if !b.Wrong() {
			continue
		}
		text := differences(b)
		if members[text] == nil {
			groups = append(groups, text)
		}
		members[text] = append(members[text], b.Proxy)
	}
	var lines []string
	for i, text := range groups {
		if i == manyGroups {
			return append(lines, fmt.Sprintf("and %d more, wrong in other ways", len(groups)-i))
		}
		lines = append(lines, together(members[text])+": "+text)
	}
	return lines
}

// manyGroups is how many ways to be wrong are shown of one step.
const manyGroups = 4

// together names proxies, or some of many.
func together(names []string) string {
	const room = 80
	all := strings.Join(names, ", ")
	if columns(all) <= room || len(names) < 3 {
		return all
	}
	return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
}

// differences says what a proxy believes and what is wrong with it. What it believes
// and misses all the same, some of its workers do not know yet.
func differences(b report.Belief) string {
	var unknown, some []string
	for _, backend := range b.Missing {
		if slices.Contains(b.Backends, backend) {
			some = append(some, backend)
		} else {
			unknown = append(unknown, backend)
		}
	}
	parts := []string{report.Names(b.Backends, shortenSets)}
	for _, part := range []struct {
		word     string
		backends []string
	}{{"missing", unknown}, {"for some workers missing", some}, {"stale", b.Stale}} {
		if len(part.backends) > 0 {
			parts = append(parts, part.word+" "+report.Names(part.backends, shortenSets))
		}
	}
	return strings.Join(parts, "; ")
}
