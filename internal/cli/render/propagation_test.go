package render

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/report/reporttest"
	"github.com/gatehouse-proxy/gatehouse/pkg/golden"
)

func TestPropagation(t *testing.T) {
	f := golden.Load(t, "testdata/propagation.txtar")
	for name, r := range map[string]lab.Result{
		"seed": reporttest.Seed(), "rollout": reporttest.Rollout(), "large": reporttest.Large(), "hostile": reporttest.Hostile(),
	} {
		text := Propagation(Style{Unicode: true}, r)
		for line := range strings.Lines(text) {
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 100 {
				t.Errorf("%s: longer than 100 columns: %q", name, line)
			}
		}
		if name == "large" { // too long to review
			continue
		}
		f.Check(name, []byte(text))
	}
}

// TestPropagationIsASCII: a terminal without Unicode gets none, and no line too long.
func TestPropagationIsASCII(t *testing.T) {
	for _, r := range []lab.Result{reporttest.Seed(), reporttest.Rollout(), reporttest.Large()} {
		for line := range strings.Lines(Propagation(Style{}, r)) {
			if line = strings.TrimSuffix(line, "\n"); len(line) > 100 || strings.ContainsFunc(line, func(c rune) bool { return c > 126 }) {
				t.Errorf("%d bytes: %q", len(line), line)
			}
		}
	}
}

// TestPropagationSaysWhatDidNotRun: a proxy that was asked for is never just absent.
func TestPropagationSaysWhatDidNotRun(t *testing.T) {
	text := Propagation(Style{Unicode: true}, lab.Result{Proxies: []lab.Proxy{{Name: "nginx", Skipped: "it is not installed"}}})
	for _, want := range []string{"not run: it is not installed", "Not run: nginx."} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
}
