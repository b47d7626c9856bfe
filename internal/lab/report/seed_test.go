package report_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/report"
)

func at(seconds float64) lab.Moment { return lab.Moment(seconds * 1e9) }

func span(backend string, from, to float64) lab.BackendSpan {
	return lab.BackendSpan{Backend: backend, From: at(from), To: at(to)}
}

func add(seconds float64, name string) lab.Event {
	return lab.Event{At: at(seconds), Kind: lab.Add, Backend: name}
}

func remove(seconds float64, name string) lab.Event {
	return lab.Event{At: at(seconds), Kind: lab.Remove, Backend: name}
}

func reload(seconds float64) lab.Event { return lab.Event{At: at(seconds), Kind: lab.Reload} }

// seedResult is what the plain models make of the seed's six steps.
func seedResult() lab.Result {
	return lab.Result{
		Timeline: lab.Timeline{Name: "seed", Length: at(7), Events: []lab.Event{
			add(1, "10.0.1.11"), add(2, "10.0.1.12"), reload(3), add(4, "10.0.1.13"), remove(5, "10.0.1.11"), reload(6),
		}},
		Proxies: []lab.Proxy{
			{Name: "model:stream", Model: lab.ModelStream, Belief: []lab.BackendSpan{
				span("10.0.1.11", 1, 5), span("10.0.1.12", 2, 7), span("10.0.1.13", 4, 7),
			}},
			{Name: "model:reload", Model: lab.ModelReload, Belief: []lab.BackendSpan{
				span("10.0.1.11", 3, 6), span("10.0.1.12", 3, 7), span("10.0.1.13", 6, 7),
			}},
		},
	}
}

func seedText(t *testing.T, r lab.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Seed(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSeedIsTheSeedsTable(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("testdata", "seed.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), seedText(t, seedResult())); diff != "" {
		t.Error(diff)
	}
}

func TestSeedTakesEitherOrder(t *testing.T) {
	r := seedResult()
	slices.Reverse(r.Proxies)
	if diff := cmp.Diff(seedText(t, seedResult()), seedText(t, r)); diff != "" {
		t.Error(diff)
	}
}

// TestSeedOfOneMoment: steps that share a moment are rows that follow each other as
// the seed's do.
func TestSeedOfOneMoment(t *testing.T) {
	r := seedResult()
	for i := range r.Timeline.Events {
		r.Timeline.Events[i].At = at(1)
	}
	for i := range r.Proxies {
		r.Proxies[i].Belief = []lab.BackendSpan{span("10.0.1.12", 1, 7), span("10.0.1.13", 1, 7)}
	}
	if diff := cmp.Diff(seedText(t, seedResult()), seedText(t, r)); diff != "" {
		t.Error(diff)
	}
}

// TestSeedShowsReloadsOfAPolicy: they are no events of the script, and still rows.
func TestSeedShowsReloadsOfAPolicy(t *testing.T) {
	r := seedResult()
	r.Timeline.Events = slices.DeleteFunc(r.Timeline.Events, func(e lab.Event) bool { return e.Kind == lab.Reload })
	if diff := cmp.Diff(seedText(t, seedResult()), seedText(t, r)); diff != "" {
		t.Error(diff)
	}
}

func TestSeedRefusesOtherProxies(t *testing.T) {
	for name, edit := range map[string]func(r *lab.Result){
		"one more": func(r *lab.Result) { r.Proxies = append(r.Proxies, lab.Proxy{Name: "nginx"}) },
		"one less": func(r *lab.Result) { r.Proxies = r.Proxies[:1] },
		"another":  func(r *lab.Result) { r.Proxies[1].Name = "model:reload:interval=2s" },
		"twice":    func(r *lab.Result) { r.Proxies[1] = r.Proxies[0] },
	} {
		r := seedResult()
		edit(&r)
		var b bytes.Buffer
		err := report.Seed(&b, r)
		if err == nil || !strings.Contains(err.Error(), "use --proxies model:stream,model:reload") || b.Len() > 0 {
			t.Errorf("%s: error %v, output %q", name, err, b.String())
		}
	}
}

// TestSeedOfALoss: a lost backend is no truth any more, and what was told goes on until
// its removal is.
func TestSeedOfALoss(t *testing.T) {
	r := lab.Result{
		Timeline: lab.Timeline{Name: "loss", Length: at(5), Events: []lab.Event{
			add(1, "a"), {At: at(2), Kind: lab.Lose, Backend: "a"}, reload(2), remove(3, "a"), reload(4),
		}},
		Proxies: []lab.Proxy{
			{Name: "model:stream", Model: lab.ModelStream, Belief: []lab.BackendSpan{span("a", 1, 3)}},
			{Name: "model:reload", Model: lab.ModelReload, Belief: []lab.BackendSpan{span("a", 2, 4)}},
		},
	}
	_, rows, _ := strings.Cut(seedText(t, r), "\n")
	want := `add   | truth=['a']                         | stream=['a']   | reload=[]       <- STALE
lose  | truth=[]                            | stream=['a']   | reload=[]      
RELOAD|                                          |                    | view -> ['a']
remove| truth=[]                            | stream=[]      | reload=['a']    <- STALE
RELOAD|                                          |                    | view -> []
`
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Error(diff)
	}
}
