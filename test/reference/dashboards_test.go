package reference

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metricsql"
)

// dashboard is what Grafana reads, as far as it is checked here.
type dashboard struct {
	Title  string
	Panels []panel
}

type panel struct {
	ID                 int
	Title, Description string
	GridPos            struct{ X, Y, W, H int }
	Targets            []struct{ Expr, LegendFormat string }
}

func dashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	paths, err := filepath.Glob("../../config/dashboards/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no dashboards: %v", err)
	}
	all := make(map[string]dashboard)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all[filepath.Base(path)] = d
	}
	return all
}

// parsed fails the test unless an expression is well-formed. $__rate_interval is Grafana's.
func parsed(t *testing.T, where, expr string) {
	t.Helper()
	if _, err := metricsql.Parse(strings.ReplaceAll(expr, "$__rate_interval", "5m")); err != nil {
		t.Errorf("%s: %q: %v", where, expr, err)
	}
}

var legends = regexp.MustCompile(`\{\{(\w+)\}\}`)

// TestDashboardsAreOverMetricsThatExist: also every label of a legend, but for the
// instance, which Prometheus adds.
func TestDashboardsAreOverMetricsThatExist(t *testing.T) {
	known := allMetrics()
	for file, d := range dashboards(t) {
		for _, p := range d.Panels {
			where := file + ": " + p.Title
			if p.Title == "" || p.Description == "" || len(p.Targets) == 0 {
				t.Errorf("%s: a panel needs a title, a description and something to show", where)
			}
			for _, target := range p.Targets {
				parsed(t, where, target.Expr)
				has := overMetrics(t, where, target.Expr, known)
				for _, m := range legends.FindAllStringSubmatch(target.LegendFormat, -1) {
					if !slices.Contains(append(has, "instance"), m[1]) {
						t.Errorf("%s: the legend has %s, and the metrics have not", where, m[1])
					}
				}
			}
		}
	}
}

// TestPanelsHaveAPlaceEach: inside the 24 columns, with an ID of its own, none over another.
func TestPanelsHaveAPlaceEach(t *testing.T) {
	for file, d := range dashboards(t) {
		ids, taken := map[int]bool{}, map[[2]int]string{}
		for _, p := range d.Panels {
			g := p.GridPos
			if ids[p.ID] || g.X < 0 || g.W <= 0 || g.H <= 0 || g.X+g.W > 24 {
				t.Errorf("%s: %s has ID %d at %+v", file, p.Title, p.ID, g)
			}
			ids[p.ID] = true
			for x := g.X; x < g.X+g.W; x++ {
				for y := g.Y; y < g.Y+g.H; y++ {
					if other, on := taken[[2]int{x, y}]; on {
						t.Fatalf("%s: %s is over %s", file, p.Title, other)
					}
					taken[[2]int{x, y}] = p.Title
				}
			}
		}
	}
}
