package model_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/report"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/script"
)

func TestTheDefaultScriptPrintsTheSeedsTable(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("..", "report", "testdata", "seed.txt"))
	must(t, err)
	var got bytes.Buffer
	must(t, report.Seed(&got, builtIn(t, script.Default, "model:stream", "model:reload")))
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Error(diff)
	}
}

func TestBuiltInScriptsKeepThePromisesOfTheModels(t *testing.T) {
	for _, s := range script.Names() {
		t.Run(s.Name, func(t *testing.T) {
			r := builtIn(t, s.Name, "model:stream", "model:reload", "model:reload:interval=2s:batch=100ms:drain=10s",
				"model:stream:delay=50ms:proxies=3:spread=20ms", "model:dns:ttl=5s")
			must(t, r.Check())
			if stream, reload := r.Proxies[0].Wrong.Length(), r.Proxies[1].Wrong.Length(); reload < stream {
				t.Errorf("the reload model is wrong for %v, and the stream model for longer: %v", reload, stream)
			}
		})
	}
}

func builtIn(t *testing.T, name string, proxies ...string) lab.Result {
	t.Helper()
	s, known := script.BuiltIn(name)
	if !known {
		t.Fatalf("no built-in script %s", name)
	}
	line, err := s.Timeline(0)
	must(t, err)
	r := lab.Result{Timeline: line}
	for _, proxy := range proxies {
		r.Proxies = append(r.Proxies, run(t, proxy, line))
	}
	return r
}
