package model_test

import (
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// The models again, by their definitions and as slowly as one likes. All times are
// whole seconds, and every view is worked out from the events anew.

var (
	backends = []string{"a", "b", "c", "d"}
	allKinds = []lab.Kind{lab.Add, lab.Add, lab.Remove, lab.Remove, lab.Reload}
)

func drawTimeline(t *rapid.T, kinds []lab.Kind) lab.Timeline {
	line, now := lab.Timeline{}, lab.Moment(0)
	for range rapid.IntRange(0, 20).Draw(t, "events") {
		now += lab.Moment(rapid.IntRange(0, 3).Draw(t, "pause")) * second
		e := lab.Event{At: now, Kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
		if e.Kind != lab.Reload {
			e.Backend = rapid.SampledFrom(backends).Draw(t, "backend")
		}
		line.Events = append(line.Events, e)
	}
	line.Length = now + lab.Moment(rapid.IntRange(0, 9).Draw(t, "rest"))*second
	line.Reload.OnChange = rapid.Bool().Draw(t, "onChange")
	line.Reload.Interval = lab.Moment(rapid.IntRange(0, 4).Draw(t, "scriptInterval")) * second
	line.Reload.Batch = lab.Moment(rapid.IntRange(0, 2).Draw(t, "scriptBatch")) * second
	return line
}

// naive is a group of proxies, in seconds; interval and batch are -1 where not given.
type naive struct {
	model                              lab.Model
	delay, ttl, interval, batch, drain int
	proxies, spread                    int
}

func drawGroup(t *rapid.T) naive {
	g := naive{
		model:   rapid.SampledFrom([]lab.Model{lab.ModelStream, lab.ModelReload, lab.ModelDNS}).Draw(t, "model"),
		proxies: rapid.IntRange(1, 3).Draw(t, "proxies"), interval: -1, batch: -1,
	}
	g.spread = (g.proxies - 1) * rapid.IntRange(0, 4).Draw(t, "late")
	switch g.model {
	case lab.ModelStream:
		g.delay = rapid.IntRange(0, 3).Draw(t, "delay")
	case lab.ModelDNS:
		g.ttl = rapid.IntRange(1, 5).Draw(t, "ttl")
	case lab.ModelReload:
		g.interval = rapid.IntRange(-1, 5).Draw(t, "interval")
		g.batch = rapid.IntRange(-1, 3).Draw(t, "batch")
		g.drain = rapid.IntRange(0, 6).Draw(t, "drain")
	}
	return g
}

func (g naive) name() string {
	name := fmt.Sprintf("model:%s:proxies=%d", g.model, g.proxies)
	add := func(key string, value, least int) {
		if value >= least {
			name += fmt.Sprintf(":%s=%ds", key, value)
		}
	}
	add("spread", g.spread, 1)
	add("delay", g.delay, 1)
	add("ttl", g.ttl, 1)
	add("interval", g.interval, 0)
	add("batch", g.batch, 0)
	add("drain", g.drain, 1)
	return name
}

// view is what some workers of one proxy believe, from until before to.
type view struct {
	from, to int
	events   int // how many the proxy had heard of
	believed map[string]bool
}

// views returns all views of all proxies, and how many updates brought them.
func (g naive) views(line lab.Timeline) (all []view, updates int) {
	for i := range g.proxies {
		late := 0
		if i > 0 {
			late = g.spread * i / (g.proxies - 1)
		}
		loads := []view{{from: 0}}
		for now := 0; lab.Moment(now)*second < line.Length; now++ {
			loads = append(loads, g.load(line, now, late, loads)...)
		}
		for j := range loads {
			loads[j].to = 1 << 30
			if j+1 < len(loads) {
				loads[j].to = loads[j+1].from + g.drain
			}
		}
		all = append(all, loads...)
		updates += g.updates(line.Events, loads)
	}
	return all, updates
}

// updates counts what a proxy was given: each change by itself, or each load. DNS answers
// count when something had changed.
func (g naive) updates(events []lab.Event, loads []view) (n int) {
	for i, load := range loads[1:] {
		switch brought := events[loads[i].events:load.events]; {
		case g.model == lab.ModelStream:
			n += len(toldOf(brought))
		case g.model == lab.ModelReload, changes(events[:loads[i].events], brought):
			n++
		}
	}
	return n
}

// changes tells whether any event of more changes what those before have told.
func changes(before, more []lab.Event) bool {
	told := toldBy(before)
	for _, e := range more {
		was := maps.Clone(told)
		if tell(told, e); !maps.Equal(was, told) {
			return true
		}
	}
	return false
}

// toldOf returns the events that proxies are told of.
func toldOf(events []lab.Event) []lab.Event {
	return slices.DeleteFunc(slices.Clone(events), func(e lab.Event) bool { return e.Kind != lab.Add && e.Kind != lab.Remove })
}

// load returns the views that a proxy takes up at now, in order.
func (g naive) load(line lab.Timeline, now, late int, before []view) (loads []view) {
	take := func(events []lab.Event) {
		loads = append(loads, view{from: now, events: len(events), believed: toldBy(events)})
	}
	heard := until(line.Events, now-late)
	switch g.model {
	case lab.ModelStream:
		take(until(line.Events, now-g.delay-late))
	case lab.ModelDNS:
		if now >= late && (now-late)%g.ttl == 0 {
			take(until(line.Events, now))
		}
	case lab.ModelReload:
		for i, e := range heard {
			if e.Kind == lab.Reload && e.At == lab.Moment(now-late)*second {
				take(heard[:i+1])
			}
		}
		if g.isDue(line, now, late, append(slices.Clone(before), loads...)) {
			take(heard)
		}
	}
	return loads
}

// isDue tells whether the policy of a proxy that has made loads wants one more at now.
func (g naive) isDue(line lab.Timeline, now, late int, loads []view) bool {
	interval, batch, onChange := max(g.interval, 0), max(g.batch, 0), true
	if g.interval < 0 && g.batch < 0 {
		interval, batch = int(line.Reload.Interval/second), int(line.Reload.Batch/second)
		onChange = line.Reload.OnChange
	}
	last, heard := loads[len(loads)-1], until(line.Events, now-late)
	for i := last.events; i < len(heard); i++ {
		if changes(heard[:i], heard[i:i+1]) {
			changed := int(heard[i].At/second) + late
			return onChange && now >= changed+batch && (len(loads) == 1 || now >= last.from+interval)
		}
	}
	return false
}

// levelOf returns how far the workers that serve at now agree on a backend.
func levelOf(views []view, now int, name string) lab.Level {
	yes, no := false, false
	for _, v := range views {
		if v.from <= now && now < v.to {
			yes, no = yes || v.believed[name], no || !v.believed[name]
		}
	}
	switch {
	case yes && no:
		return lab.Partly
	case yes:
		return lab.Fully
	}
	return lab.None
}

func levelAt(spans []lab.BackendSpan, now int, name string) lab.Level {
	for _, s := range spans {
		if s.Backend == name && s.Contains(lab.Moment(now)*second) {
			if s.Partly {
				return lab.Partly
			}
			return lab.Fully
		}
	}
	return lab.None
}

func until(events []lab.Event, now int) []lab.Event {
	n := 0
	for n < len(events) && events[n].At <= lab.Moment(now)*second {
		n++
	}
	return events[:n]
}

// toldBy returns what proxies know that heard of events.
func toldBy(events []lab.Event) map[string]bool {
	told := map[string]bool{}
	for _, e := range events {
		tell(told, e)
	}
	return told
}

func tell(told map[string]bool, e lab.Event) {
	if e.Kind == lab.Add {
		told[e.Backend] = true
	}
	if e.Kind == lab.Remove {
		delete(told, e.Backend)
	}
}

// truthOf returns the events up to now, where a loss is a removal.
func truthOf(events []lab.Event, now int) []lab.Event {
	out := slices.Clone(until(events, now))
	for i := range out {
		if out[i].Kind == lab.Lose {
			out[i].Kind = lab.Remove
		}
	}
	return out
}

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
