package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/gatehouse-proxy/gatehouse/internal/cli/render"
)

func environment(environ []string) map[string]string {
	out := make(map[string]string, len(environ))
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok {
			out[name] = value
		}
	}
	return out
}

// terminal returns the file of a writer that is a terminal.
func terminal(w io.Writer) (*os.File, bool) {
	f, ok := w.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// styleOf returns what whoever reads w can see.
func (s *session) styleOf(w io.Writer) render.Style {
	style := render.Style{Unicode: s.unicode()}
	f, ok := terminal(w)
	if !ok {
		return style
	}
	style.Color = s.env["NO_COLOR"] == "" && s.env["TERM"] != "dumb" // https://no-color.org
	if width, _, err := term.GetSize(int(f.Fd())); err == nil {
		style.Width = width
	}
	return style
}

// unicode tells whether the locale's character set is UTF-8; the first variable
// that is set decides (POSIX, XBD 8.2).
func (s *session) unicode() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := s.env[name]; v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}

// printErrors writes every line of an error as one of its own.
func (s *session) printErrors(err error) {
	if err == nil {
		return
	}
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" {
			fmt.Fprintln(s.Err, s.errStyle.Paint(render.Red, "error:"), s.errStyle.Text(line))
		}
	}
}

// warn writes one line to look at.
func (s *session) warn(line string) {
	fmt.Fprintln(s.Err, s.errStyle.Paint(render.Yellow, "warning:"), s.errStyle.Text(line))
}
