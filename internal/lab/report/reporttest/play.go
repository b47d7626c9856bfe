package reporttest

import (
	"slices"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// rules are how a proxy that is played behaves.
type rules struct {
	delay    lab.Moment   // from a change or a reload until it believes
	reloads  []lab.Moment // beside those of the script
	drain    lab.Moment   // how long old workers keep the old view
	dies     lab.Moment   // when it believes in nothing any more; 0 is never
	tries    int          // backends that a request is given to at most
	rate     int          // requests per second; 0 is a model
	patience lab.Moment   // of clients
}

// change is one turn of what a proxy believes.
type change struct {
	at      lab.Moment
	backend string
	level   lab.Level
}

// play fills in what a proxy that follows rules believes, and what its clients see.
func play(line lab.Timeline, p lab.Proxy, by rules) lab.Proxy {
	var changes []change
	if p.Model == lab.ModelReload {
		changes, p.Updates = reloaded(line, by)
	} else {
		changes, p.Updates = streamed(line, by)
	}
	if by.dies > 0 {
		changes = slices.DeleteFunc(changes, func(c change) bool { return c.at >= by.dies })
		for _, backend := range backends(line) {
			changes = append(changes, change{by.dies, backend, lab.None})
		}
	}
	p.Truth, p.Belief, p.Wrong = integrate(line, changes)
	if by.rate > 0 {
		p.Serving = serving(line)
		p.Requests = new(load(line, p, by))
	}
	return p
}

func backends(line lab.Timeline) []string {
	var names []string
	for _, e := range line.Events {
		if e.Kind == lab.Add {
			names = append(names, e.Backend)
		}
	}
	return names
}

func streamed(line lab.Timeline, by rules) (changes []change, updates int) {
	for _, e := range line.Events {
		switch e.Kind {
		case lab.Add:
			changes = append(changes, change{e.At + by.delay, e.Backend, lab.Fully})
		case lab.Remove:
			changes = append(changes, change{e.At + by.delay, e.Backend, lab.None})
		case lab.Lose, lab.Reload:
			continue
		}
		updates++
	}
	return changes, updates
}

func reloaded(line lab.Timeline, by rules) (changes []change, updates int) {
	times := slices.Clone(by.reloads)
	for _, e := range line.Events {
		if e.Kind == lab.Reload {
			times = append(times, e.At)
		}
	}
	slices.Sort(times)
	old := map[string]bool{}
	for _, t := range times {
		told := toldBy(line, t)
		for _, backend := range backends(line) {
			switch {
			case told[backend] == old[backend]:
			case told[backend]:
				changes = append(changes, drained(t+by.delay, by.drain, backend, lab.Fully)...)
			default:
				changes = append(changes, drained(t+by.delay, by.drain, backend, lab.None)...)
			}
		}
		old = told
	}
	return changes, len(times)
}

// drained turns at once, or partly until the old workers are gone.
func drained(at, drain lab.Moment, backend string, to lab.Level) []change {
	if drain == 0 {
		return []change{{at, backend, to}}
	}
	return []change{{at, backend, lab.Partly}, {at + drain, backend, to}}
}

func toldBy(line lab.Timeline, t lab.Moment) map[string]bool {
	told := map[string]bool{}
	for _, e := range line.Events {
		if e.At <= t && (e.Kind == lab.Add || e.Kind == lab.Remove) {
			told[e.Backend] = e.Kind == lab.Add
		}
	}
	return told
}

// integrate merges truth and belief in order of time. Changes out of order are a
// mistake in this package.
func integrate(line lab.Timeline, changes []change) (truth, belief []lab.BackendSpan, wrong lab.Wrong) {
	slices.SortStableFunc(changes, func(a, b change) int { return int(a.at - b.at) })
	var l lab.Ledger
	i := 0
	believe := func(until lab.Moment) {
		for ; i < len(changes) && changes[i].at < until; i++ {
			must(l.Belief(changes[i].at, changes[i].backend, changes[i].level))
		}
	}
	for _, e := range line.Events {
		believe(e.At)
		if e.Kind != lab.Reload {
			must(l.Truth(e.At, e.Backend, e.Kind == lab.Add))
		}
	}
	believe(line.Length)
	h, err := l.Until(line.Length)
	must(err)
	return h.Truth, h.Belief, h.Wrong
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
