package render

import (
	"fmt"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// timeLayout is the time of day in live views.
const timeLayout = "15:04:05.000"

// whatWidth is the width of the column of what happened.
const whatWidth = 9

var whatColors = map[observe.What]Color{
	observe.Changed: Plain, observe.Accepted: Green, observe.Refused: Red,
	observe.Deleted: Plain, observe.Excluded: Yellow, observe.Warned: Yellow,
}

// Event returns one change as lines: time, object in a column of the given width,
// what happened, and how far it has come.
func Event(s Style, e observe.LiveEvent, object int) string {
	var b strings.Builder
	at := e.At.Local().Format(timeLayout)
	name := s.Text(Subject(e))
	fmt.Fprintf(&b, "%s  %s  %s", s.Paint(Dim, at), pad(name, object), s.column(whatColors[e.What], string(e.What), whatWidth))
	indent := len(timeLayout) + gap
	text := eventText(e)
	column := indent + max(columns(name), object) + gap + whatWidth + gap
	switch room := s.width() - column; {
	case text == "":
		return trimmed(&b) + "\n"
	case columns(s.Text(text)) <= room:
		b.WriteString("  " + s.Text(text) + "\n")
	default: // too long to stand beside: below, where there is room
		rest := text
		if short := progress(e); short != "" && columns(short) <= room {
			b.WriteString("  " + short)
			rest = withoutProgress(e)
		}
		line := trimmed(&b)
		b.Reset()
		b.WriteString(line + "\n" + strings.Repeat(" ", indent))
		hang(&b, s.wrap(rest, s.width()-indent), indent)
	}
	return b.String()
}

// Subject names what an event is about.
func Subject(e observe.LiveEvent) string { return subject(e.Kind, e.Name, e.Where) }

func trimmed(b *strings.Builder) string { return strings.TrimRight(b.String(), " ") }

func eventText(e observe.LiveEvent) string {
	return strings.Join(nonEmpty(progress(e), withoutProgress(e)), " · ")
}

func progress(e observe.LiveEvent) string {
	switch {
	case e.Total == 0:
		return ""
	case e.Took == 0:
		return fmt.Sprintf("acknowledged %d/%d", e.Acked, e.Total)
	}
	return fmt.Sprintf("acknowledged %d/%d in %s", e.Acked, e.Total, Duration(e.Took))
}

func withoutProgress(e observe.LiveEvent) string {
	if e.Message == "" || e.Where == "" || e.Name == "" { // where a good object stands is no news
		return e.Message
	}
	return e.Message + " · file " + e.Where
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

// Problem returns one object that is not serving.
func Problem(s Style, p observe.Problem) string {
	return Attention(s, admin.Attention{
		Kind: p.Kind, Name: p.Name, State: verdict.State(p.State),
		Field: p.Field, Message: p.Message, Where: p.Where, Serves: p.Serves,
	})
}
