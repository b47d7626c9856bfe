package render

import (
	"strings"
	"unicode/utf8"
)

func columns(text string) int { return utf8.RuneCountInString(text) }

// column colours text and fills it up with spaces that have no colour.
func (s Style) column(c Color, text string, width int) string {
	text = s.Text(text)
	return s.Paint(c, text) + strings.Repeat(" ", max(0, width-columns(text)))
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-columns(text)))
}

// wrap makes text safe to show and breaks it into lines of at most width columns,
// at spaces if it can, and before each arrow, which starts a consequence of what
// was said before.
func (s Style) wrap(text string, width int) []string {
	arrow := s.Text("→")
	var lines []string
	for i, part := range strings.Split(s.Text(text), " "+arrow+" ") {
		if i > 0 {
			part = arrow + " " + part
		}
		lines = append(lines, fill(part, width)...)
	}
	return lines
}

// cut shortens safe text to at most so many columns, and says so at its end.
func (s Style) cut(text string, width int) string {
	if columns(text) <= width {
		return text
	}
	end := s.Text("…")
	if width <= columns(end) {
		return string([]rune(text)[:max(0, width)])
	}
	return string([]rune(text)[:width-columns(end)]) + end
}

func fill(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case columns(line)+1+columns(word) <= width:
			line += " " + word
			continue
		default:
			lines = append(lines, line)
			line = word
		}
		for columns(line) > width { // a word longer than a line
			head, rest := cut(line, width)
			lines = append(lines, head)
			line = rest
		}
	}
	return append(lines, line)
}

// cut splits text after n runes.
func cut(text string, n int) (head, rest string) {
	for i := range text {
		if n == 0 {
			return text[:i], text[i:]
		}
		n--
	}
	return text, ""
}

// Lines returns text as lines that fit, the later ones indented.
func (s Style) Lines(text string) string {
	var b strings.Builder
	hang(&b, s.wrap(text, s.width()-gap), gap)
	return b.String()
}

// hang writes lines with the first at the end of what is there and the others
// below it, indented.
func hang(b *strings.Builder, lines []string, indent int) {
	for i, line := range lines {
		if i > 0 {
			b.WriteString(strings.Repeat(" ", indent))
		}
		b.WriteString(line)
		b.WriteByte('\n')
	}
}
