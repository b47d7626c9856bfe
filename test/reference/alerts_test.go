package reference

import (
	"bytes"
	"os"
	"path"
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
	text, err := os.ReadFile("../../config/alerts/gatehouse.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var read rules
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&read); err != nil {
		t.Fatal(err)
	}
	var out []rule
	for _, g := range read.Groups {
		out = append(out, g.Rules...)
	}
	return out
}

var (
	metricNames = regexp.MustCompile(`\bgatehouse_[a-z_]+`)
	matchers    = regexp.MustCompile(`(gatehouse_[a-z_]+)\{([a-z]+)="`)
	labels      = regexp.MustCompile(`\$labels\.([a-z]+)`)
)

// TestAlertsAreOverMetricsThatExist: every metric and label of a rule is documented.
func TestAlertsAreOverMetricsThatExist(t *testing.T) {
	known := map[string]observe.Metric{}
	for _, m := range slices.Concat(observe.NewMetrics().Documented(), observe.NewRouterMetrics().Documented()) {
		known[m.Name] = m
	}
	for _, r := range alerts(t) {
		names := metricNames.FindAllString(r.Expr, -1)
		if len(names) == 0 {
			t.Errorf("%s looks at no metric of Gatehouse: %s", r.Alert, r.Expr)
		}
		var has []string
		for _, name := range names {
			if _, ok := known[name]; !ok {
				t.Errorf("%s: no metric %s", r.Alert, name)
			}
			has = append(has, known[name].Labels...)
		}
		for _, m := range matchers.FindAllStringSubmatch(r.Expr, -1) {
			if !slices.Contains(known[m[1]].Labels, m[2]) {
				t.Errorf("%s: %s has no label %s", r.Alert, m[1], m[2])
			}
		}
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
