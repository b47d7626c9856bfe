package lab_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

const second = lab.Moment(time.Second)

func span(backend string, from, to lab.Moment) lab.BackendSpan {
	return lab.BackendSpan{Backend: backend, From: from * second, To: to * second}
}

func partly(backend string, from, to lab.Moment) lab.BackendSpan {
	s := span(backend, from, to)
	s.Partly = true
	return s
}

func TestLedgerTellsMissingFromStale(t *testing.T) {
	var l lab.Ledger
	must(t, l.Truth(1*second, "a", true))
	must(t, l.Belief(3*second, "a", lab.Partly))
	must(t, l.Belief(4*second, "a", lab.Fully))
	must(t, l.Truth(6*second, "a", false))
	must(t, l.Belief(7*second, "a", lab.Partly))
	must(t, l.Belief(9*second, "a", lab.None))

	want := lab.History{
		Truth:  []lab.BackendSpan{span("a", 1, 6)},
		Belief: []lab.BackendSpan{partly("a", 3, 4), span("a", 4, 7), partly("a", 7, 9)},
		Wrong: lab.Wrong{
			Windows:        []lab.Span{{From: 1 * second, To: 4 * second}, {From: 6 * second, To: 9 * second}},
			Missing:        []lab.BackendSpan{span("a", 1, 3), partly("a", 3, 4)},
			Stale:          []lab.BackendSpan{span("a", 6, 7), partly("a", 7, 9)},
			MissingSeconds: 3, StaleSeconds: 3,
		},
	}
	if diff := cmp.Diff(want, until(t, &l, 10)); diff != "" {
		t.Error(diff)
	}
}

func TestLedgerKeepsNothingThatTookNoTime(t *testing.T) {
	var l lab.Ledger
	must(t, l.Truth(0, "a", true))
	must(t, l.Belief(0, "a", lab.Fully))
	must(t, l.Truth(1*second, "a", false))
	must(t, l.Truth(1*second, "a", true))
	must(t, l.Belief(2*second, "a", lab.Partly))
	must(t, l.Belief(2*second, "a", lab.None))
	must(t, l.Belief(2*second, "a", lab.Fully))

	all := []lab.BackendSpan{span("a", 0, 3)}
	want := lab.History{Truth: all, Belief: all, Wrong: lab.Wrong{
		Windows: []lab.Span{}, Missing: []lab.BackendSpan{}, Stale: []lab.BackendSpan{},
	}}
	if diff := cmp.Diff(want, until(t, &l, 3)); diff != "" {
		t.Error(diff)
	}
}

func TestLedgerTakesTheDifferencesOfSamples(t *testing.T) {
	var l lab.Ledger
	must(t, l.Sample(1*second, []string{"a", "b"}, []string{"a", "b", "c"}))
	must(t, l.Sample(2*second, []string{"b", "a"}, []string{"c"}))
	must(t, l.Sample(3*second, []string{"c"}, []string{"a", "c"}))
	must(t, l.Sample(4*second, nil, nil))

	want := []lab.BackendSpan{
		span("a", 1, 3), span("b", 1, 3), partly("c", 1, 3),
		partly("a", 3, 4), span("c", 3, 4),
	}
	if diff := cmp.Diff(want, until(t, &l, 5).Belief); diff != "" {
		t.Error(diff)
	}
}

func TestLedgerRefusesToGoBack(t *testing.T) {
	var l lab.Ledger
	must(t, l.Truth(2*second, "a", true))
	_, ended := l.Until(1 * second)
	for name, err := range map[string]error{
		"truth":  l.Truth(1*second, "a", false),
		"belief": l.Belief(1*second, "a", lab.Fully),
		"sample": l.Sample(1*second, nil, nil),
		"end":    ended,
	} {
		if _, ok := errors.AsType[*lab.OrderError](err); !ok {
			t.Errorf("%s: %v is no OrderError", name, err)
		}
	}
}

// A ledger holds what a look at every change point would find.
func TestLedgerIsTheSumOverAllChangePoints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l lab.Ledger
		sampled := rapid.Bool().Draw(t, "sampled")
		now, looks := lab.Moment(0), []look{{routable: map[string]bool{}, level: map[string]lab.Level{}}}
		for range rapid.IntRange(0, 40).Draw(t, "changes") {
			now += lab.Moment(rapid.IntRange(0, 2).Draw(t, "pause")) * second
			next := looks[len(looks)-1].at(now)
			next.change(t, &l, sampled)
			looks = append(looks, next)
		}
		end := now + lab.Moment(rapid.IntRange(0, 2).Draw(t, "rest"))*second
		got, err := l.Until(end)
		if err != nil {
			t.Fatal(err)
		}
		looks = append(looks, looks[len(looks)-1].at(end))
		missing, stale := 0.0, 0.0
		for i, next := range looks[1:] {
			if next.now > looks[i].now {
				m, s := looks[i].check(t, got)
				missing += float64(m) * (next.now - looks[i].now).Seconds()
				stale += float64(s) * (next.now - looks[i].now).Seconds()
			}
		}
		if missing != got.Wrong.MissingSeconds || stale != got.Wrong.StaleSeconds {
			t.Errorf("integrals %v and %v, want %v and %v", got.Wrong.MissingSeconds, got.Wrong.StaleSeconds, missing, stale)
		}
		for _, spans := range [][]lab.BackendSpan{got.Truth, got.Belief, got.Wrong.Missing, got.Wrong.Stale} {
			checkSpans(t, spans, end)
		}
	})
}

// look is the naive state at a moment.
type look struct {
	now      lab.Moment
	routable map[string]bool
	level    map[string]lab.Level
}

func (k look) at(now lab.Moment) look {
	next := look{now: now, routable: map[string]bool{}, level: map[string]lab.Level{}}
	maps.Copy(next.routable, k.routable)
	maps.Copy(next.level, k.level)
	return next
}

var names = []string{"a", "b", "c", "d"}

func (k look) change(t *rapid.T, l *lab.Ledger, sampled bool) {
	name := rapid.SampledFrom(names).Draw(t, "backend")
	var err error
	switch {
	case rapid.Bool().Draw(t, "truth"):
		k.routable[name] = rapid.Bool().Draw(t, "routable")
		err = l.Truth(k.now, name, k.routable[name])
	case sampled:
		all := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, len(names), rapid.ID).Draw(t, "all")
		some := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, len(names), rapid.ID).Draw(t, "some")
		for _, name := range names {
			switch {
			case slices.Contains(all, name):
				k.level[name] = lab.Fully
			case slices.Contains(some, name):
				k.level[name] = lab.Partly
			default:
				k.level[name] = lab.None
			}
		}
		err = l.Sample(k.now, all, some)
	default:
		k.level[name] = lab.Level(rapid.IntRange(int(lab.None), int(lab.Fully)).Draw(t, "level"))
		err = l.Belief(k.now, name, k.level[name])
	}
	if err != nil {
		t.Fatal(err)
	}
}

// check compares what holds at the moment of k with h and counts what is wrong.
func (k look) check(t *rapid.T, h lab.History) (missing, stale int) {
	var truth, belief, absent, dead []string
	for _, name := range names {
		if k.routable[name] {
			truth = append(truth, name)
			if k.level[name] < lab.Fully {
				absent = append(absent, name)
			}
		}
		if k.level[name] > lab.None {
			belief = append(belief, name)
			if !k.routable[name] {
				dead = append(dead, name)
			}
		}
	}
	for what, pair := range map[string][2][]string{
		"truth":   {truth, lab.At(h.Truth, k.now)},
		"belief":  {belief, lab.At(h.Belief, k.now)},
		"missing": {absent, lab.At(h.Wrong.Missing, k.now)},
		"stale":   {dead, lab.At(h.Wrong.Stale, k.now)},
	} {
		if !slices.Equal(pair[0], pair[1]) {
			t.Errorf("%s at %v: %v, want %v", what, k.now.Seconds(), pair[1], pair[0])
		}
	}
	inWindow := slices.ContainsFunc(h.Wrong.Windows, func(s lab.Span) bool { return s.Contains(k.now) })
	if inWindow != (len(absent)+len(dead) > 0) {
		t.Errorf("at %v: in a window: %v", k.now.Seconds(), inWindow)
	}
	return len(absent), len(dead)
}

// checkSpans holds the promises of History.
func checkSpans(t *rapid.T, spans []lab.BackendSpan, end lab.Moment) {
	last := map[string]lab.BackendSpan{}
	var before lab.BackendSpan
	for _, s := range spans {
		if s.From < before.From || s.From == before.From && s.Backend < before.Backend {
			t.Errorf("%v comes after %v", s, before)
		}
		if l, ok := last[s.Backend]; s.From < 0 || s.From >= s.To || s.To > end ||
			ok && (s.From < l.To || s.From == l.To && s.Partly == l.Partly) {
			t.Errorf("%v follows %v in a run until %v", s, l, end)
		}
		last[s.Backend], before = s, s
	}
}

func TestQuantilesAreOfNearestRank(t *testing.T) {
	upTo := func(n int) (d []lab.Moment) {
		for i := range n {
			d = append(d, lab.Moment(n-i))
		}
		return d
	}
	for n, want := range map[int]lab.Quantiles{
		0: {}, 1: {P50: 1, P99: 1, Max: 1}, 2: {P50: 1, P99: 2, Max: 2}, 3: {P50: 2, P99: 3, Max: 3},
		100: {P50: 50, P99: 99, Max: 100}, 101: {P50: 51, P99: 100, Max: 101}, 200: {P50: 100, P99: 198, Max: 200},
	} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			given := upTo(n)
			if got := lab.QuantilesOf(given); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
			if !slices.Equal(given, upTo(n)) {
				t.Error("the durations were sorted in place")
			}
		})
	}
}

func TestStaleWindowMeasuresWindows(t *testing.T) {
	w := lab.Wrong{Windows: []lab.Span{{From: 1, To: 2}, {From: 5, To: 9}, {From: 10, To: 12}}}
	if got, want := w.StaleWindow(), (lab.Quantiles{P50: 2, P99: 4, Max: 4}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func BenchmarkLedgerMillionEvents(b *testing.B) {
	backends := make([]string, 1000)
	for i := range backends {
		backends[i] = fmt.Sprintf("10.0.%d.%d", i/250, i%250)
	}
	b.ReportAllocs()
	for b.Loop() {
		var l lab.Ledger
		for i := range lab.Moment(1_000_000) {
			name, on := backends[i%1000], i/1000%2 == 0
			must(b, l.Truth(2*i, name, on))
			must(b, l.Belief(2*i+1, name, map[bool]lab.Level{true: lab.Fully}[on]))
		}
		until(b, &l, math.MaxInt64/second)
	}
}

func until(t testing.TB, l *lab.Ledger, end lab.Moment) lab.History {
	t.Helper()
	h, err := l.Until(end * second)
	must(t, err)
	return h
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
