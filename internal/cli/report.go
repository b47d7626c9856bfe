package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/app"
	"github.com/gatehouse-proxy/gatehouse/internal/cli/render"
)

// printReport writes findings to standard output and their sum to standard error.
func (s *session) printReport(format string, r app.Report) error {
	if format != asTable {
		if r.Findings == nil {
			r.Findings = []app.Finding{}
		}
		return encode(s.Out, format, r)
	}
	if _, err := io.WriteString(s.Out, render.Findings(s.style, findings(r.Findings))); err != nil {
		return err
	}
	_, err := fmt.Fprintln(s.Err, summary(r))
	return err
}

func findings(all []app.Finding) []render.Finding {
	out := make([]render.Finding, len(all))
	for i, f := range all {
		out[i] = render.Finding{
			Where: f.File, Object: strings.TrimSpace(strings.ToLower(f.Kind) + " " + f.Name),
			Field: f.Field, Message: f.Message, Warning: f.Warning,
		}
		if f.Line > 0 {
			out[i].Where = fmt.Sprintf("%s:%d", f.File, f.Line)
		}
	}
	return out
}

// summary says how many findings there are in how many files.
func summary(r app.Report) string {
	bad := map[string]bool{}
	warnings := 0
	for _, f := range r.Findings {
		if f.Warning {
			warnings++
			continue
		}
		bad[f.File] = true
	}
	text := fmt.Sprintf("%s in %d of %s", render.Count(len(r.Findings)-warnings, "finding"), len(bad), render.Count(r.Files, "file"))
	if warnings > 0 {
		text += ", " + render.Count(warnings, "warning")
	}
	return text
}
