package host

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// Envoy makes the statistics that are read and those that are asked for, no others.
func TestStatisticsAreKeptOnRequest(t *testing.T) {
	r := newRig(t)
	g := gateway(edge)
	s := r.start(t, g)
	r.events.next(t, Ready)
	if body := r.mustGet(t); body != "hello" {
		t.Fatalf("answers %q", body)
	}
	kept := func() []string {
		p, err := s.running(edge)
		if err != nil {
			t.Fatal(err)
		}
		stats, err := p.admin.stats(t.Context(), `^(cluster|http|listener)\..*(_active|_[0-9]xx|_total)$`)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Sorted(maps.Keys(stats))
	}
	few := kept()
	for _, name := range few {
		if strings.HasPrefix(name, "cluster.") || strings.HasPrefix(name, "http.") && !strings.HasSuffix(name, "_active") {
			t.Errorf("%s is kept and nobody reads it", name)
		}
	}

	g.Settings.Statistics = []string{"http."}
	s.Ensure([]model.Gateway{g})
	r.events.next(t, Ready)
	r.mustGet(t)
	more := kept()
	if !slices.ContainsFunc(more, func(name string) bool { return strings.HasSuffix(name, ".downstream_rq_2xx") }) {
		t.Errorf("the requested statistics are not among %v", more)
	}
	if slices.ContainsFunc(more, func(name string) bool { return strings.HasPrefix(name, "cluster.") }) {
		t.Errorf("more is kept than was asked for: %v", more)
	}
}
