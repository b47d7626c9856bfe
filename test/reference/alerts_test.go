package reference

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// rules is a file of rules as Prometheus reads it, as far as ours go.
type rules struct {
	Groups []struct {
		Name  string
		Rules []rule
	}
}

type rule struct {
	Alert       string
	Expr        string
	For         string
	Labels      map[string]string
	Annotations map[string]string
}

func alerts(t *testing.T) []rule {
	t.Helper()
	paths, err := filepath.Glob("../../config/alerts/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no rules: %v", err)
	}
	var out []rule
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var read rules
		d := yaml.NewDecoder(bytes.NewReader(text))
		d.KnownFields(true)
		if err := d.Decode(&read); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, g := range read.Groups {
			out = append(out, g.Rules...)
		}
	}
	return out
}

var (
	metricNames = regexp.MustCompile(`\b(?:gatehouse|proxy_operator)_[a-z_]+`)
	selectors   = regexp.MustCompile(`((?:gatehouse|proxy_operator)_[a-z_]+)\{([^}]*)\}`)
	matchers    = regexp.MustCompile(`([a-z]+)(?:=|!=|=~|!~)"`)
	labels      = regexp.MustCompile(`\$labels\.([a-z]+)`)
)

// allMetrics are all metrics of Gatehouse by name, histograms also by those of their series
// that scrapes in text have.
func allMetrics() map[string]observe.Metric {
	known := map[string]observe.Metric{}
	for _, m := range slices.Concat(observe.NewMetrics().Documented(), observe.NewRouterMetrics().Documented(), fleetMetrics(), egressMetrics()) {
		known[m.Name] = m
		if m.Type == "histogram" {
			known[m.Name+"_sum"], known[m.Name+"_count"] = m, m
		}
	}
	return known
}

// overMetrics fails the test unless an expression looks at metrics that exist, with labels
// that they have. It returns these labels.
func overMetrics(t *testing.T, where, expr string, known map[string]observe.Metric) (has []string) {
	t.Helper()
	names := metricNames.FindAllString(expr, -1)
	if len(names) == 0 {
		t.Errorf("%s looks at no metric of Gatehouse: %s", where, expr)
	}
	for _, name := range names {
		if _, ok := known[name]; !ok {
			t.Errorf("%s: no metric %s", where, name)
		}
		has = append(has, known[name].Labels...)
	}
	for _, selector := range selectors.FindAllStringSubmatch(expr, -1) {
		for _, m := range matchers.FindAllStringSubmatch(selector[2], -1) {
			if !slices.Contains(known[selector[1]].Labels, m[1]) {
				t.Errorf("%s: %s has no label %s", where, selector[1], m[1])
			}
		}
	}
	return has
}

// TestAlertsAreOverMetricsThatExist: every metric and label of a rule is documented.
func TestAlertsAreOverMetricsThatExist(t *testing.T) {
	known := allMetrics()
	for _, r := range alerts(t) {
		parsed(t, r.Alert, r.Expr)
		has := overMetrics(t, r.Alert, r.Expr, known)
		for _, m := range labels.FindAllStringSubmatch(r.Annotations["summary"]+r.Annotations["description"], -1) {
			if !slices.Contains(has, m[1]) {
				t.Errorf("%s speaks of label %s, which its metrics do not have", r.Alert, m[1])
			}
		}
	}
}

// TestAlertsSayWhatToDo: every rule has a severity, texts, and a place in the operations
// page that says what it means, what to look at and what to do; and the page has no more.
func TestAlertsSayWhatToDo(t *testing.T) {
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for section := range strings.SplitSeq(string(page), "\n## ") {
		title, text, _ := strings.Cut(section, "\n")
		if strings.HasPrefix(title, "Gatehouse") {
			sections[title] = text
		}
	}
	for _, r := range alerts(t) {
		if !slices.Contains([]string{"warning", "critical"}, r.Labels["severity"]) || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("%s lacks a severity, a summary or a description", r.Alert)
		}
		if got := path.Base(r.Annotations["runbook_url"]); got != "operations.md#"+strings.ToLower(r.Alert) {
			t.Errorf("%s: runbook_url ends in %q", r.Alert, got)
		}
		if d, err := time.ParseDuration(r.For); r.For != "" && (err != nil || d <= 0) {
			t.Errorf("%s: for %q: %v", r.Alert, r.For, err)
		}
		for _, part := range []string{"**It means:**", "**Look at:**", "**At 3 a.m.:**"} {
			if !strings.Contains(sections[r.Alert], part) {
				t.Errorf("docs/operations.md does not say %s of %s", part, r.Alert)
			}
		}
		delete(sections, r.Alert)
	}
	for title := range sections {
		t.Errorf("docs/operations.md has %s, and no rule has", title)
	}
}
