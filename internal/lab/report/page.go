package report

import (
	"fmt"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// page is what the template shows.
type page struct {
	Name, Steps, Length, Rate, Machine, Command string
	Reading                                     []string
	Resolution                                  string // a sentence, or nothing
	Real                                        bool   // some proxy took requests
	Some                                        bool   // some view was that of some workers only
	Rows                                        []row
	Timelines                                   []timeline
	Skipped                                     []lab.Proxy
}

// row is one proxy in the summary.
type row struct {
	Name, Skipped, Failed                  string
	Missing, Stale, P50, P99, Max, Updates string
	MissingWidth, StaleWidth               string // in percent of the widest
	Requests                               *requestCells
	CPU, Memory                            string
}

type requestCells struct{ Due, Failed, Tries, Retried string }

func pageOf(r lab.Result, by budget) page {
	steps, more := Steps(r, 0)
	p := page{
		Name: r.Timeline.Name, Steps: plural(len(steps)+more, "step", "steps"), Length: Seconds(r.Timeline.Length),
		Machine: machine(r.Machine), Command: r.Machine.Command, Reading: Reading(r), Resolution: sentence(Resolution(r)),
	}
	if r.Load.Rate > 0 {
		p.Rate = plural(r.Load.Rate, "request a second", "requests a second")
	}
	most := 0.0
	for _, x := range r.Proxies {
		most = max(most, x.Wrong.MissingSeconds+x.Wrong.StaleSeconds)
		p.Real = p.Real || x.Requests != nil
		_, partly := split(x.Belief)
		p.Some = p.Some || len(partly) > 0
	}
	for i, x := range r.Proxies {
		p.Rows = append(p.Rows, rowOf(x, most))
		if x.Skipped != "" {
			p.Skipped = append(p.Skipped, x)
			continue
		}
		p.Timelines = append(p.Timelines, timelineOf(r, x, fmt.Sprintf("proxy-%d", i+1), by))
	}
	return p
}

// sentence makes one of a note.
func sentence(note string) string {
	if note == "" {
		return ""
	}
	return strings.ToUpper(note[:1]) + note[1:] + "."
}

func machine(m lab.Machine) string {
	var parts []string
	if m.System != "" {
		parts = append(parts, fmt.Sprintf("%s, %s, %s", m.System, plural(m.CPUs, "CPU", "CPUs"), Memory(m.Memory)))
	}
	if m.Started != "" {
		parts = append(parts, m.Started)
	}
	return strings.Join(parts, " · ")
}

func rowOf(p lab.Proxy, most float64) row {
	w := p.Wrong.StaleWindow()
	share := func(seconds float64) string { return fmt.Sprintf("%.1f", 98*seconds/max(most, 1e-9)) }
	out := row{
		Name: p.Name, Skipped: p.Skipped, Failed: p.Failed,
		Missing: Integral(p.Wrong.MissingSeconds), Stale: Integral(p.Wrong.StaleSeconds),
		MissingWidth: share(p.Wrong.MissingSeconds), StaleWidth: share(p.Wrong.StaleSeconds),
		P50: Seconds(w.P50), P99: Seconds(w.P99), Max: Seconds(w.Max), Updates: Number(p.Updates),
	}
	if q := p.Requests; q != nil {
		out.Requests = &requestCells{Number(q.Due), Number(q.Failed), Number(q.InVain), Number(q.RetriedAway)}
	}
	if c := p.Cost; c != nil {
		out.CPU, out.Memory = fmt.Sprintf("%.2f s", c.Propagation), Memory(c.Memory)
	}
	return out
}
