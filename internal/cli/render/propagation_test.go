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
