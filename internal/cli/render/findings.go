package render

import (
	"fmt"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/app"
)

// Finding returns one line: where, which object, which field, what is wrong, and
// what would be right. It does not wrap, so that programs can read it line by line.
func Finding(s Style, f app.Finding, widest [2]int) string {
	where, object := place(f)
	text := fielded(f.Field, f.Message)
	color := Red
	if f.Warning {
		text, color = "warning: "+text, Yellow
	}
	line := pad(s.Text(where), widest[0]) + "  "
	if widest[1] > 0 {
		line += s.column(color, object, widest[1]) + "  "
	}
	return line + s.Text(text) + "\n"
}

func place(f app.Finding) (where, object string) {
	where = f.File
	if f.Line > 0 {
		where = fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return where, strings.TrimSpace(strings.ToLower(f.Kind) + " " + f.Name)
}

// widestColumn is the most that one long name may push all lines to the right.
const widestColumn = 40

// Findings returns a line for each finding, in columns.
func Findings(s Style, all []app.Finding) string {
	var widest [2]int
	for _, f := range all {
		where, object := place(f)
		widest[0] = max(widest[0], min(columns(where), widestColumn))
		widest[1] = max(widest[1], min(columns(object), widestColumn))
	}
	var b strings.Builder
	for _, f := range all {
		b.WriteString(Finding(s, f, widest))
	}
	return b.String()
}

// Summary says how many findings there are in how many files.
func Summary(r app.Report) string {
	bad := map[string]bool{}
	warnings := 0
	for _, f := range r.Findings {
		if f.Warning {
			warnings++
			continue
		}
		bad[f.File] = true
	}
	text := fmt.Sprintf("%s in %d of %s", Count(len(r.Findings)-warnings, "finding"), len(bad), Count(r.Files, "file"))
	if warnings > 0 {
		text += ", " + Count(warnings, "warning")
	}
	return text
}
