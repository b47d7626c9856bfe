package render

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// Style is what the reader's terminal can show. The zero Style is plain ASCII-safe
// text of 100 columns.
type Style struct {
	Color   bool
	Unicode bool
	// Width is the number of columns; 0 means 100, which is also the most that is used.
	Width int
}

// maxWidth is the widest text that is easy to read.
const maxWidth = 100

// minWidth is the narrowest that columns still make sense in.
const minWidth = 40

func (s Style) width() int {
	if s.Width <= 0 {
		return maxWidth
	}
	return min(max(s.Width, minWidth), maxWidth)
}

// Color is the foreground of some text.
type Color int

// Colours, as SGR parameters of ECMA-48.
const (
	Plain  Color = 0
	Bold   Color = 1
	Dim    Color = 2
	Red    Color = 31
	Green  Color = 32
	Yellow Color = 33
)

// Paint colours text when the style has colour.
func (s Style) Paint(c Color, text string) string {
	if !s.Color || c == Plain || text == "" {
		return text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", c, text)
}

// ascii are the characters that Gatehouse itself uses, as ASCII has them.
var ascii = strings.NewReplacer("✓", "+", "✗", "x", "–", "-", "—", "-", "…", "...", "→", "->", "·", "-", "“", `"`, "”", `"`, "≤", "<=", "≥", ">=", "×", "x")

// Text returns text that is safe to show: control characters are written as \x1b,
// and without Unicode Gatehouse's own symbols have their ASCII form.
func (s Style) Text(text string) string {
	if strings.ContainsFunc(text, unsafeRune) {
		text = escape(text)
	}
	if !s.Unicode {
		text = ascii.Replace(text)
	}
	return text
}

// unsafeRune reports characters that move the cursor, change colours or the
// direction of writing.
func unsafeRune(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == unicode.ReplacementChar
}

func escape(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			b.WriteByte(' ')
		case r == unicode.ReplacementChar:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case unsafeRune(r) && r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case unsafeRune(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// mark is a symbol of one column and its colour.
type mark struct {
	symbol string
	color  Color
}

var marks = map[verdict.Outcome]mark{
	verdict.OK:           {"✓", Green},
	verdict.Warning:      {"!", Yellow},
	verdict.WasExcluded:  {"–", Yellow},
	verdict.WasRejected:  {"✗", Red},
	verdict.StillPending: {"~", Yellow},
}

var stateMarks = map[verdict.State]mark{
	verdict.Serving:  {"✓", Green},
	verdict.Partial:  {"!", Yellow},
	verdict.Excluded: {"–", Yellow},
	verdict.Rejected: {"✗", Red},
	verdict.Pending:  {"~", Yellow},
}

func (s Style) mark(m mark) string {
	if m.symbol == "" {
		m.symbol = "?"
	}
	return s.Paint(m.color, s.Text(m.symbol))
}

// State returns a state in its colour.
func (s Style) State(state verdict.State) string {
	return s.Paint(stateMarks[state].color, s.Text(string(state)))
}
