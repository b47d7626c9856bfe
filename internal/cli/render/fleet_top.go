package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/explain"
)

// Frame is what a live view of a fleet shows at one moment.
type Frame struct {
	// At is when List was told; it is the last one that was, in the order to be shown.
	At   time.Time
	List explain.List
	// Granted and Refused are how many requests for a lease a second; nil when not known.
	Granted, Refused *float64
	// Lost says why there is nothing newer than List; empty when there is.
	Lost string
	// Lines is how many there is room for; 0 is any number.
	Lines int
}

// topColumns are those of a live view.
var topColumns = []fleetColumn{columnProxy, columnPhase, columnAddress, columnProbe, columnProbed, columnLeases, columnRests}

// FleetTop returns a live view's frame: what is true of the fleet in one line, what is
// wrong with all of it, then a line for each Proxy, as many as fit.
func FleetTop(s Style, f Frame, now time.Time) string {
	var b strings.Builder
	b.WriteString(s.cut(s.Text(topHead(f)), s.width()) + "\n")
	for _, w := range topWarnings(f, now) {
		b.WriteString(s.Paint(Red, s.Text("!")) + " " + s.cut(s.Text(w), s.width()-2) + "\n")
	}
	b.WriteString("\n")
	rows := f.List.Items
	if room := f.Lines - strings.Count(b.String(), "\n") - 2; f.Lines > 0 && len(rows) > room {
		rows = rows[:max(0, room)]
	}
	t := fleetTable(s, topColumns, rows, now)
	t.Cut = true
	b.WriteString(t.Render(s))
	if more := len(f.List.Items) - len(rows); more > 0 {
		b.WriteString(s.Paint(Dim, s.cut(s.Text(fmt.Sprintf("… and %d more; 'gatehouse fleet list' shows all", more)), s.width())) + "\n")
	}
	return b.String()
}

// topHead sums the fleet up.
func topHead(f Frame) string {
	var offered, unhealthy, cooling, leases int
	for _, r := range f.List.Items {
		if r.Offer != nil && r.Offer.Why == "Offered" {
			offered++
		}
		if r.Healthy != nil && !*r.Healthy {
			unhealthy++
		}
		if r.Leases != nil {
			leases += r.Leases.Active
			cooling += min(1, r.Leases.Cooling)
		}
	}
	parts := []string{
		f.At.Local().Format("15:04:05.000"),
		fmt.Sprintf("%d of %d proxies offered", offered, len(f.List.Items)),
		fmt.Sprintf("%d unhealthy", unhealthy), fmt.Sprintf("%d cooling down", cooling), Count(leases, "lease"),
	}
	if f.Granted != nil && f.Refused != nil {
		parts = append(parts, fmt.Sprintf("%s granted/s", rate(*f.Granted)), fmt.Sprintf("%s refused/s", rate(*f.Refused)))
	}
	if f.At.IsZero() {
		parts = []string{"nothing known yet"}
	}
	return strings.Join(parts, " · ")
}

func rate(perSecond float64) string {
	if perSecond > 0 && perSecond < 10 {
		return fmt.Sprintf("%.1f", perSecond)
	}
	return fmt.Sprintf("%.0f", perSecond)
}

// topWarnings are what is wrong with the whole.
func topWarnings(f Frame, now time.Time) (all []string) {
	if f.Lost != "" {
		text := f.Lost + "; asked again and again"
		if !f.At.IsZero() {
			text = "what follows is " + Duration(max(0, now.Sub(f.At))) + " old: " + text
		}
		all = append(all, text)
	}
	if f.List.Leasing.Error != "" {
		all = append(all, "leases: "+f.List.Leasing.Error)
	}
	if since := f.List.Leasing.SuspendedSince; since != nil {
		all = append(all, "so many probes fail at once since "+since.Local().Format(time.TimeOnly)+" that no proxy is called unhealthy: is it the target of probes, or this network?")
	}
	if f.List.Held != "" {
		all = append(all, f.List.Held)
	}
	return all
}
