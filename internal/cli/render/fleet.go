package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/explain"
)

// Fleet returns one line for each Proxy, then what waits for a word of the user, then
// the documents that are no Proxy.
func Fleet(s Style, l explain.List, now time.Time) string {
	var b strings.Builder
	if len(l.Items) == 0 {
		b.WriteString(s.Text(l.Source+" has no Proxy") + "\n")
	}
	b.WriteString(fleetTable(s, listColumns(l), l.Items, now).Render(s))
	if l.Held != "" {
		b.WriteString("\n" + s.Paint(Yellow, s.Text("!")) + " ")
		hang(&b, s.wrap(l.Held, s.width()-2), 2)
	}
	problems(&b, s, l.Problems)
	return b.String()
}

func problems(b *strings.Builder, s Style, all []explain.Problem) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s refused:\n", Count(len(all), "document"))
	for _, p := range all {
		at := p.File
		if p.Line > 0 {
			at += fmt.Sprintf(":%d", p.Line)
		}
		what := strings.TrimSpace(strings.ToLower(p.Kind) + " " + p.Name)
		b.WriteString("  " + s.Paint(Red, s.Text("✗")) + " ")
		hang(b, s.wrap(strings.TrimSpace(at+"  "+what)+"  "+fielded(p.Field, p.Message), s.width()-4), 4)
	}
}
