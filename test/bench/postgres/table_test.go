package postgres_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// series are the values of one figure, a round each.
type series []float64

func (s series) median() float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// over divides round by round, so that what slows a machine for a while slows both.
func (s series) over(other series) series {
	out := make(series, len(s))
	for i := range s {
		out[i] = s[i] / other[i]
	}
	return out
}

// spread writes a ratio with its range.
func (s series) spread() string {
	return fmt.Sprintf("%.2f (%.2f-%.2f)", s.median(), slices.Min(s), slices.Max(s))
}

// table is what a benchmark is run for.
type table struct {
	title string
	rows  [][]string
}

func (t *table) row(cells ...any) {
	texts := make([]string, len(cells))
	for i, c := range cells {
		switch c := c.(type) {
		case float64:
			texts[i] = number(c)
		default:
			texts[i] = fmt.Sprint(c)
		}
	}
	t.rows = append(t.rows, texts)
}

func number(f float64) string {
	switch {
	case f >= 100:
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	default:
		return fmt.Sprintf("%.2f", f)
	}
}

func (t *table) print(b *testing.B) {
	b.Helper()
	fmt.Printf("\n\n%s\n%s, %d rounds of %s\n", t.title, versions(b), rounds(), time.Duration(seconds())*time.Second)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, row := range t.rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush()
}
