package model_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/model"
)

const second = lab.Moment(time.Second)

// Every model believes, at every moment, what its definition says.
func TestRunIsWhatTheDefinitionSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGroup(t)
		line := drawTimeline(t, append(slices.Clone(allKinds), lab.Lose))
		got := play(t, g.name(), line)
		missing, stale := 0, 0
		members, updates := g.views(line)
		for now := 0; lab.Moment(now)*second < line.Length; now++ {
			truth := toldBy(truthOf(line.Events, now))
			for _, name := range backends {
				level := levelOf(members, now, name)
				if has := levelAt(got.Belief, now, name); has != level {
					t.Fatalf("%s at %d: %s is believed to level %d, want %d", g.name(), now, name, has, level)
				}
				missing += count(truth[name] && level != lab.Fully)
				stale += count(!truth[name] && level != lab.None)
			}
		}
		if got.Updates != updates {
			t.Errorf("%s: %d updates, want %d", g.name(), got.Updates, updates)
		}
		if off := math.Abs(got.Wrong.MissingSeconds-float64(missing)) + math.Abs(got.Wrong.StaleSeconds-float64(stale)); off > 1e-6 {
			t.Errorf("%s: missing %v and stale %v, the sum over all moments is %d and %d",
				g.name(), got.Wrong.MissingSeconds, got.Wrong.StaleSeconds, missing, stale)
		}
	})
}

func TestAReloadViewIsSomePastTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := drawTimeline(t, allKinds)
		got := play(t, rapid.SampledFrom([]string{
			"model:reload", "model:reload:interval=3s", "model:reload:interval=4s:batch=1s", "model:dns:ttl=3s",
		}).Draw(t, "name"), line)
		past := map[string]bool{"[]": true}
		for now := range int(line.Length / second) {
			for i := range line.Events {
				if line.Events[i].At <= lab.Moment(now)*second {
					past[fmt.Sprint(sorted(toldBy(line.Events[:i+1])))] = true
				}
			}
			if view := fmt.Sprint(lab.At(got.Belief, lab.Moment(now)*second)); !past[view] {
				t.Errorf("at %d: %s was never true", now, view)
			}
		}
	})
}

func TestNothingIsWrongRightAfterAReload(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := drawTimeline(t, allKinds)
		got := play(t, "model:reload", line)
		for i, e := range line.Events {
			last := i+1 == len(line.Events) || line.Events[i+1].At > e.At
			if e.Kind == lab.Reload && last && wrongAt(got, e.At) {
				t.Errorf("wrong after the reload at %gs", e.At.Seconds())
			}
		}
	})
}

func TestStreamIsNeverWrong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"model:stream", "model:stream:delay=0s:proxies=5"}).Draw(t, "name")
		got := play(t, name, drawTimeline(t, allKinds))
		if w := got.Wrong; len(w.Windows)+len(w.Missing)+len(w.Stale) > 0 || w.MissingSeconds+w.StaleSeconds != 0 {
			t.Errorf("%+v", w)
		}
	})
}

func TestRunIsDeterministicAndInsideTheRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name, line := drawGroup(t).name(), drawTimeline(t, append(slices.Clone(allKinds), lab.Lose))
		got := play(t, name, line)
		if once, again := text(t, got), text(t, play(t, name, line)); once != again {
			t.Errorf("%s: %s, and again %s", name, once, again)
		}
		for _, spans := range [][]lab.BackendSpan{got.Truth, got.Belief, got.Wrong.Missing, got.Wrong.Stale} {
			for _, s := range spans {
				if s.From < 0 || s.From >= s.To || s.To > line.Length {
					t.Errorf("%s: %+v is not in the run", name, s)
				}
			}
		}
	})
}

func TestAReloadForAnotherProxyIsNotHeard(t *testing.T) {
	line := lab.Timeline{Length: 4 * second, Events: []lab.Event{
		{At: 1 * second, Kind: lab.Add, Backend: "a"},
		{At: 2 * second, Kind: lab.Reload, Proxy: "nginx"},
		{At: 3 * second, Kind: lab.Reload, Proxy: "model:reload"},
	}}
	if got := run(t, "model:reload", line); got.Updates != 1 || got.Wrong.MissingSeconds != 2 {
		t.Errorf("%d reloads, missing for %gs", got.Updates, got.Wrong.MissingSeconds)
	}
}

// What ends before anybody knows is stale even for a proxy that takes each change at once.
func TestALostBackendIsStaleUntilItsRemoval(t *testing.T) {
	line := lab.Timeline{Length: 9 * second, Events: []lab.Event{
		{At: 1 * second, Kind: lab.Add, Backend: "a"},
		{At: 3 * second, Kind: lab.Lose, Backend: "a"},
		{At: 7 * second, Kind: lab.Remove, Backend: "a"},
	}}
	if got := run(t, "model:stream", line); got.Wrong.StaleSeconds != 4 || got.Updates != 2 {
		t.Errorf("stale for %gs after %d updates", got.Wrong.StaleSeconds, got.Updates)
	}
}

func BenchmarkMillionEvents(b *testing.B) {
	line := lab.Timeline{Length: 1_000_001 * second / 1000}
	for i := range 1_000_000 {
		e := lab.Event{At: lab.Moment(i) * second / 1000, Kind: lab.Add, Backend: fmt.Sprintf("10.0.%d.%d", i%1000/250, i%250)}
		switch {
		case i%10 == 9:
			e.Kind, e.Backend = lab.Reload, ""
		case i/1000%2 == 1:
			e.Kind = lab.Remove
		}
		line.Events = append(line.Events, e)
	}
	for _, name := range []string{
		"model:stream", "model:reload",
		"model:stream:delay=50ms:proxies=3:spread=20ms",
		"model:reload:interval=2s:batch=100ms:drain=10s",
		"model:reload:drain=10s:proxies=3:spread=20ms",
		"model:dns:ttl=5s:proxies=3:spread=5s",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				run(b, name, line)
			}
		})
	}
}

func play(t *rapid.T, name string, line lab.Timeline) lab.Proxy {
	spec, err := model.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := model.Run(spec, line)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func text(t *rapid.T, p lab.Proxy) string {
	out, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
