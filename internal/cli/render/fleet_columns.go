package render

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/explain"
)

// fleetColumn is one of a list of Proxies.
type fleetColumn struct {
	head string
	cell func(r explain.Row, now time.Time) Cell
	// spare is in which order columns are left out where all are too wide; 0 never is.
	spare int
}

var (
	columnProxy    = fleetColumn{"PROXY", func(r explain.Row, _ time.Time) Cell { return T(r.Namespace + "/" + r.Name) }, 0}
	columnPhase    = fleetColumn{"PHASE", func(r explain.Row, _ time.Time) Cell { return Cell{dash(r.Phase), stateMarks[r.State].color} }, 0}
	columnProvider = fleetColumn{"PROVIDER", func(r explain.Row, _ time.Time) Cell { return T(dash(providerOf(r))) }, 2}
	columnAddress  = fleetColumn{"ADDRESS", func(r explain.Row, _ time.Time) Cell { return T(dash(r.Address)) }, 3}
	columnProbe    = fleetColumn{"PROBE", func(r explain.Row, _ time.Time) Cell { return probeCell(r) }, 0}
	columnProbed   = fleetColumn{"AGO", func(r explain.Row, now time.Time) Cell { return T(probed(r, now)) }, 1}
	columnLeases   = fleetColumn{"LEASES", func(r explain.Row, _ time.Time) Cell { return T(leasesOf(r)) }, 0}
	columnCooling  = fleetColumn{"COOLING", func(r explain.Row, _ time.Time) Cell { return T(coolingOf(r)) }, 0}
	columnAge      = fleetColumn{"AGE", func(r explain.Row, now time.Time) Cell { return T(age(r, now)) }, 1}
	columnWhy      = fleetColumn{"WHY", func(r explain.Row, _ time.Time) Cell { return T(r.Why) }, 0}
	columnRests    = fleetColumn{"COOLING DOWN", func(r explain.Row, _ time.Time) Cell { return restsOf(r) }, 0}
)

// listColumns are those of a list: of probes and leases only where there are any.
func listColumns(l explain.List) []fleetColumn {
	all := []fleetColumn{columnProxy, columnPhase, columnProvider, columnAddress}
	if slices.ContainsFunc(l.Items, func(r explain.Row) bool { return r.Probe != nil || r.LatencyMillis > 0 }) {
		all = append(all, columnProbe)
	}
	if slices.ContainsFunc(l.Items, func(r explain.Row) bool { return r.Leases != nil }) {
		all = append(all, columnLeases, columnCooling)
	}
	return append(all, columnAge, columnWhy)
}

// fleetTable has as many of the columns as fit beside the last one.
func fleetTable(s Style, all []fleetColumn, rows []explain.Row, now time.Time) Table {
	for spare := 1; ; spare++ {
		t := tableOf(all, rows, now)
		if t.width() <= s.width() || spare > len(all) {
			if s.width()-t.width() < narrow { // the last column is below the others
				t.Header[len(t.Header)-1] = ""
			}
			return t
		}
		all = slices.DeleteFunc(slices.Clone(all), func(c fleetColumn) bool { return c.spare == spare })
	}
}

func tableOf(columns []fleetColumn, rows []explain.Row, now time.Time) (t Table) {
	for _, c := range columns {
		t.Header = append(t.Header, c.head)
	}
	for _, r := range rows {
		var cells []Cell
		for _, c := range columns {
			cells = append(cells, c.cell(r, now))
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

func providerOf(r explain.Row) string {
	if r.Mode == "External" {
		return "external"
	}
	if r.Zone != "" {
		return r.Provider + " " + r.Zone
	}
	return r.Provider
}

func age(r explain.Row, now time.Time) string {
	if r.CreatedAt == nil {
		return dash("")
	}
	return Duration(max(0, now.Sub(*r.CreatedAt)).Round(time.Second))
}

// probeCell is how long the last probe took, or how it failed and how often in a row.
func probeCell(r explain.Row) Cell {
	switch p := r.Probe; {
	case p != nil && p.Class != "" && p.Class != "ok":
		color := Yellow
		if r.Healthy == nil || !*r.Healthy {
			color = Red
		}
		return Cell{fmt.Sprintf("%s (%d×)", p.Class, p.InRow), color}
	case p != nil && p.Class == "ok" && r.LatencyMillis == 0:
		return T("<1 ms")
	case r.LatencyMillis > 0:
		return T(fmt.Sprintf("%d ms", r.LatencyMillis))
	}
	return T(dash(""))
}

// probed is how long ago the last probe ended.
func probed(r explain.Row, now time.Time) string {
	if r.Probe == nil || r.Probe.At == nil {
		return dash("")
	}
	return fmt.Sprintf("%d s", int(max(0, now.Sub(*r.Probe.At)).Seconds()))
}

func leasesOf(r explain.Row) string {
	switch l := r.Leases; {
	case l == nil:
		return dash("")
	case l.Capacity > 0:
		return fmt.Sprintf("%d/%d", l.Active, l.Capacity)
	default:
		return strconv.Itoa(l.Active)
	}
}

// coolingOf is for how many targets it cools down.
func coolingOf(r explain.Row) string {
	switch l := r.Leases; {
	case l == nil || l.Cooling == 0:
		return dash("")
	case l.Cooldowns[0].Target == "":
		return "all"
	default:
		return strconv.Itoa(l.Cooling)
	}
}

// restsOf names the target for which it cools down longest, or else says what is wrong.
func restsOf(r explain.Row) Cell {
	l := r.Leases
	if l == nil || l.Cooling == 0 || r.Offer != nil && r.Offer.Why != "Offered" {
		return Cell{r.Why, stateMarks[r.State].color}
	}
	c := l.Cooldowns[0]
	text := fmt.Sprintf("%s until %s", cmp.Or(c.Target, "every target"), c.Until.Local().Format("15:04"))
	if l.Cooling > 1 {
		text += fmt.Sprintf(" +%d", l.Cooling-1)
	}
	return T(text)
}

func dash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}
