package reporttest

import (
	"fmt"
	"slices"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// Large is more than anybody wants to look at: 12 proxies, 100 backends, 2,000 events
// and 1,000 failures each.
func Large() lab.Result {
	line := lab.Timeline{Name: "autoscaling", Length: at(600)}
	for i := range 2000 {
		backend := fmt.Sprintf("10.0.%d.%d", 1+i%100/25, 11+i%25)
		t := 0.3 * float64(i)
		if i/100%2 == 0 {
			line.Events = append(line.Events, add(t, backend))
		} else {
			line.Events = append(line.Events, remove(t, backend, lab.Kill, 0))
		}
	}
	r := lab.Result{Timeline: line, Machine: Machine, Settle: at(0.2), Load: lab.Load{Rate: 20, Timeout: at(2)}}
	for i := range 12 {
		p := lab.Proxy{Name: fmt.Sprintf("model:stream:delay=%ds:proxies=100:spread=20ms", i), Model: lab.ModelStream}
		p = play(line, p, rules{delay: at(float64(i) * 0.7)})
		p.Program, p.Requests = "invented 1.0", manyFailures(line)
		r.Proxies = append(r.Proxies, real(p, 12, 900))
	}
	return r
}

func manyFailures(line lab.Timeline) *lab.Requests {
	var requests []lab.Request
	var inVain []lab.TryInVain
	outcomes := []lab.Outcome{lab.Refused, lab.Reset, lab.TimedOut, lab.Status}
	names := backends(line)
	for i := range 12_000 {
		due := at(float64(i) / 20)
		r := lab.Request{ID: uint64(i + 1), Due: due, Sent: due, Done: due + at(0.01), Outcome: lab.Answered, Backend: "10.0.1.11"}
		if i%12 == 0 {
			r.Outcome, r.Backend = outcomes[i/12%4], ""
		}
		requests = append(requests, r)
		inVain = append(inVain, lab.TryInVain{At: due, Backend: names[i%len(names)], Refused: i%3 == 0})
	}
	account := lab.Account(requests, []lab.BackendSpan{{Backend: "10.0.1.11", To: line.Length}}, inVain)
	return &account
}

// Hostile is the seed with names that try to be markup, terminal control or endless.
func Hostile() lab.Result {
	r := Seed()
	evil := map[string]string{
		"10.0.1.11": `"><script>alert(1)</script>`,
		"10.0.1.12": "\x1b]0;title\x07a\u202eb\r" + string(slices.Repeat([]byte("x"), 300)),
		"10.0.1.13": `</title></style><img src="//example.org/x.png">&amp;'`,
	}
	rename := func(spans []lab.BackendSpan) {
		for i := range spans {
			spans[i].Backend = evil[spans[i].Backend]
		}
	}
	for i := range r.Timeline.Events {
		r.Timeline.Events[i].Backend = evil[r.Timeline.Events[i].Backend]
	}
	for i := range r.Proxies {
		for _, spans := range [][]lab.BackendSpan{r.Proxies[i].Truth, r.Proxies[i].Belief, r.Proxies[i].Wrong.Missing, r.Proxies[i].Wrong.Stale} {
			rename(spans)
		}
	}
	r.Timeline.Name = `</title><script>alert(2)</script>` + "\x1b[31m"
	r.Machine.Command = `gatehouse '<svg onload=alert(3)>'`
	r.Proxies[0].Name = `<b onclick="alert(4)">`
	r.Proxies[1].How = "--><script>alert(5)</script>"
	r.Proxies = append(r.Proxies, lab.Proxy{Name: "nginx\x1b[2J", Skipped: "javascript:alert(6)<iframe>"})
	return r
}
