package render

import (
	"slices"
	"strings"
)

// Cell is one field of a table.
type Cell struct {
	Text  string
	Color Color
}

// T is a plain cell.
func T(text string) Cell { return Cell{Text: text} }

// Table lays rows out in columns; the last column takes the rest of the width
// and wraps within it.
type Table struct {
	Header []string
	Rows   [][]Cell
	// Below are texts under each row, over its whole width; nil is none.
	Below [][]string
	// Cut makes each row one line: what does not fit is cut off, not wrapped.
	Cut bool
}

// gap is the space between columns.
const gap = 2

// Render returns the table; it is empty when there are no rows.
func (t Table) Render(s Style) string {
	if len(t.Rows) == 0 {
		return ""
	}
	rows, below := t.Rows, t.Below
	if t.Header != nil {
		rows = slices.Insert(slices.Clone(rows), 0, headerCells(t.Header))
		below = slices.Insert(slices.Clone(below), 0, nil)
	}
	for i, row := range rows {
		rows[i] = slices.Clone(row)
		for j := range row {
			rows[i][j].Text = s.Text(row[j].Text)
		}
	}
	widths := columnWidths(rows)
	var b strings.Builder
	for i, row := range rows {
		if t.Cut {
			cutRow(&b, s, row, widths)
			continue
		}
		writeRow(&b, s, row, widths)
		if i < len(below) {
			writeBelow(&b, s, below[i])
		}
	}
	return b.String()
}

func writeBelow(b *strings.Builder, s Style, texts []string) {
	for _, text := range texts {
		b.WriteString(strings.Repeat(" ", 2*gap))
		hang(b, s.wrap(text, s.width()-2*gap), 2*gap)
	}
}

// cutRow writes a row in one line, as far as it fits.
func cutRow(b *strings.Builder, s Style, row []Cell, widths []int) {
	var line strings.Builder
	left := s.width()
	for j, cell := range row {
		text := s.cut(cell.Text, left)
		line.WriteString(s.Paint(cell.Color, text))
		left -= columns(text)
		if j < len(row)-1 {
			fill := min(widths[j]-columns(text)+gap, left)
			line.WriteString(strings.Repeat(" ", fill))
			left -= fill
		}
	}
	b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
}

// width is how many columns the table takes but for its last, which takes the rest.
func (t Table) width() (n int) {
	widths := columnWidths(append([][]Cell{headerCells(t.Header)}, t.Rows...))
	for _, w := range widths[:max(0, len(widths)-1)] {
		n += w + gap
	}
	return n
}

func headerCells(header []string) []Cell {
	cells := make([]Cell, len(header))
	for i, h := range header {
		cells[i] = Cell{Text: h, Color: Dim}
	}
	return cells
}

func columnWidths(rows [][]Cell) []int {
	var widths []int
	for _, row := range rows {
		if len(row) == 1 { // a line of its own, beside nothing
			continue
		}
		for j, cell := range row {
			if j == len(widths) {
				widths = append(widths, 0)
			}
			widths[j] = max(widths[j], columns(cell.Text))
		}
	}
	return widths
}

// narrow is the least room that a wrapped column is given beside the others.
const narrow = 20

func writeRow(b *strings.Builder, s Style, row []Cell, widths []int) {
	last := len(row) - 1
	at := 0
	var line strings.Builder
	for j, cell := range row[:last] {
		line.WriteString(s.Paint(cell.Color, cell.Text))
		line.WriteString(strings.Repeat(" ", widths[j]-columns(cell.Text)+gap))
		at += widths[j] + gap
	}
	if row[last].Text == "" {
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
		return
	}
	if s.width()-at < narrow {
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
		line.Reset()
		line.WriteString(strings.Repeat(" ", 2*gap))
		at = 2 * gap
	}
	b.WriteString(line.String())
	lines := s.wrap(row[last].Text, s.width()-at)
	for i := range lines {
		lines[i] = s.Paint(row[last].Color, lines[i])
	}
	hang(b, lines, at)
}
