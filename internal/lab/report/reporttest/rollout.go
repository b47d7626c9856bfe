package reporttest

import (
	"fmt"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// Rollout is a rolling update of four backends, then a lost node, behind eight proxies:
// two of them fail, in the two ways there are.
func Rollout() lab.Result {
	line := rollout()
	machine := Machine
	machine.Command = "gatehouse lab propagation --script rolling-update --rate 100 --duration 60s --proxies " +
		"model:stream,model:reload:interval=5s:batch=1s,nginx,nginx:retries=off,haproxy-reload,haproxy-runtime,envoy-file,envoy-xds,gatehouse"
	streams := rules{delay: at(0.03), tries: 3, rate: 100, patience: at(2)}
	file := streams
	file.delay = at(0.4)
	reloads := rules{delay: at(0.08), drain: at(1.2), tries: 2, rate: 100, patience: at(2), reloads: policy(line, at(1), at(5))}
	bare, dying, slow := reloads, reloads, reloads
	bare.tries, dying.dies, slow.delay, slow.drain = 1, at(41), at(0.3), at(4)
	model := rules{reloads: reloads.reloads}
	late := real(play(line, lab.Proxy{Name: "envoy-file", Model: lab.ModelStream, Program: "Envoy 1.40.0", How: "EDS from a file; no retries"}, file), 0.22, 64)
	late.Requests.Lateness = lab.Quantiles{P50: at(0.0002), P99: at(0.03), Max: at(0.676)}
	return lab.Result{
		Timeline: line, Machine: machine, Settle: at(0.25), Load: lab.Load{Rate: 100, Timeout: at(2)},
		Proxies: []lab.Proxy{
			play(line, lab.Proxy{Name: "model:stream", Model: lab.ModelStream}, rules{}),
			play(line, lab.Proxy{Name: "model:reload:interval=5s:batch=1s", Model: lab.ModelReload}, model),
			real(play(line, lab.Proxy{Name: "nginx", Model: lab.ModelReload, Program: "nginx 1.22.1", How: "file and reload; proxy_next_upstream at its default"}, reloads), 1.31, 41),
			real(play(line, lab.Proxy{Name: "nginx:retries=off", Model: lab.ModelReload, Program: "nginx 1.22.1", How: "file and reload; proxy_next_upstream off"}, bare), 1.28, 41),
			real(play(line, lab.Proxy{
				Name: "haproxy-reload", Model: lab.ModelReload, Program: "HAProxy 2.6.12", How: "file and reload by the master; 3 retries",
				Failed: "haproxy-reload: the master exited with status 1 after 41.0 s: cannot bind 127.0.0.1:8000",
			}, dying), 1.9, 118),
			{Name: "haproxy-runtime", Model: lab.ModelStream, Skipped: "haproxy is not installed; install it with: apt-get install haproxy"},
			late,
			real(play(line, lab.Proxy{Name: "gatehouse", Model: lab.ModelStream, Program: "gatehouse 0.6.0, Envoy 1.40.0", How: "EndpointSlices through the whole pipeline; no retries"}, streams), 0.41, 131),
		},
	}
}

func real(p lab.Proxy, propagation float64, mebi int64) lab.Proxy {
	p.Resolution = lab.Quantiles{P50: at(0.003), P99: at(0.0074), Max: at(0.02)}
	p.Cost = &lab.Cost{CPU: propagation * 4, Propagation: propagation, Memory: mebi << 20}
	return p
}

// rollout replaces one backend after the other; one is killed, and the last vanishes
// before anybody is told.
func rollout() lab.Timeline {
	line := lab.Timeline{Name: "rolling-update", Length: at(60), Reload: lab.Policy{OnChange: true, Interval: at(5), Batch: at(1)}}
	for i := range 4 {
		line.Events = append(line.Events, add(0, fmt.Sprintf("10.0.1.%d", 11+i)))
	}
	for i := range 4 {
		end, grace := lab.Stop, 2.0
		if i == 2 {
			end, grace = lab.Kill, 0
		}
		start := 8 + 8*float64(i)
		line.Events = append(line.Events, add(start, fmt.Sprintf("10.0.1.%d", 21+i)), remove(start+2.5, fmt.Sprintf("10.0.1.%d", 11+i), end, grace))
	}
	lost := remove(44, "10.0.1.22", lab.Vanish, 0)
	lost.Kind = lab.Lose
	return withEvents(line, lost, remove(48, "10.0.1.22", lab.Vanish, 0), add(50, "10.0.1.25"))
}

func withEvents(line lab.Timeline, events ...lab.Event) lab.Timeline {
	line.Events = append(line.Events, events...)
	return line
}

// policy returns when a proxy reloads: batch after a change, interval after the last.
func policy(line lab.Timeline, batch, interval lab.Moment) (times []lab.Moment) {
	next := lab.Moment(-1)
	for _, e := range line.Events {
		if e.Kind == lab.Lose || e.At <= next {
			continue
		}
		t := e.At + batch
		if next >= 0 {
			t = max(t, next+interval)
		}
		next = t
		times = append(times, t)
	}
	return times
}
