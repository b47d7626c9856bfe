package reference

import (
	"bytes"
	"fmt"
	"strings"
)

// markdown collects a page.
type markdown struct{ bytes.Buffer }

func (m *markdown) text(format string, args ...any) { fmt.Fprintf(m, format+"\n\n", args...) }

func (m *markdown) head(cells ...string) {
	m.row(cells...)
	fmt.Fprintf(m, "|%s\n", strings.Repeat("---|", len(cells)))
}

func (m *markdown) row(cells ...string) {
	for _, cell := range cells {
		m.WriteString("| " + strings.ReplaceAll(cell, "|", `\|`) + " ")
	}
	m.WriteString("|\n")
}

func (m *markdown) gap() { m.WriteString("\n") }

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
