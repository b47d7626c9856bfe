// Package reporttest makes results of runs for the tests of what draws them: the
// seed's, a rolling update behind eight proxies, one of hostile names, and the largest
// that a page must bear. They are played by small rules, not measured, and the same
// each time.
package reporttest

import "github.com/gatehouse-proxy/gatehouse/internal/lab"

// at returns the moment that many seconds after the start.
func at(seconds float64) lab.Moment { return lab.Moment(seconds * 1e9) }

func add(seconds float64, backend string) lab.Event {
	return lab.Event{At: at(seconds), Kind: lab.Add, Backend: backend, Address: backend}
}

func remove(seconds float64, backend string, end lab.End, grace float64) lab.Event {
	return lab.Event{At: at(seconds), Kind: lab.Remove, Backend: backend, Address: backend, End: end, Grace: at(grace)}
}

func reload(seconds float64) lab.Event { return lab.Event{At: at(seconds), Kind: lab.Reload} }

// Seed is the seed's six steps, a second apart, and what the plain models believe.
func Seed() lab.Result {
	line := lab.Timeline{Name: "seed", Length: at(7), Events: []lab.Event{
		add(1, "10.0.1.11"), add(2, "10.0.1.12"), reload(3),
		add(4, "10.0.1.13"), remove(5, "10.0.1.11", lab.Stop, 0), reload(6),
	}}
	return lab.Result{
		Timeline: line, Machine: Machine,
		Proxies: []lab.Proxy{
			play(line, lab.Proxy{Name: "model:stream", Model: lab.ModelStream}, rules{}),
			play(line, lab.Proxy{Name: "model:reload", Model: lab.ModelReload}, rules{}),
		},
	}
}

// Machine is where the results seem to come from.
var Machine = lab.Machine{
	Started: "2026-11-30T09:00:00Z", System: "Linux 6.1.0 amd64", CPUs: 2, Memory: 8 << 30,
	Command: "gatehouse lab propagation --proxies model:stream,model:reload",
}
