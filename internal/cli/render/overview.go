package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// Overview returns what "gatehouse status" opens with.
func Overview(s Style, o admin.Overview, now time.Time) string {
	var b strings.Builder
	hang(&b, s.wrap(fmt.Sprintf("gatehouse %s · envoy %s · revision %d · up %s",
		o.Version, o.Envoy, o.Revision, Duration(now.Sub(o.Since))), s.width()), 2)
	hang(&b, s.wrap(Counts(o.Objects), s.width()-2), 2)
	b.WriteByte('\n')
	if len(o.Gateways) == 0 {
		hang(&b, s.wrap(nothingServed(o), s.width()), 2)
	}
	b.WriteString(gateways(s, o.Gateways))
	if len(o.Attention) > 0 {
		fmt.Fprintf(&b, "\n%s\n", s.Paint(Bold, "needs attention"))
	}
	for _, a := range o.Attention[:min(len(o.Attention), manyProblems)] {
		b.WriteString(Attention(s, a))
	}
	if more := len(o.Attention) - manyProblems; more > 0 {
		fmt.Fprintf(&b, "  and %d more; 'gatehouse status KIND' lists the objects of a kind\n", more)
	}
	return b.String()
}

// nothingServed says why there is no Gateway.
func nothingServed(o admin.Overview) string {
	if o.Objects[string(verdict.Pending)] > 0 {
		return "no gateway is served yet: what is observed is not accepted, and 'gatehouse why KIND NAME' says what it waits for"
	}
	return "no gateway is served; a Gateway needs a GatewayClass with this controller's name"
}

// manyProblems is how many things to look at are shown at once.
const manyProblems = 50

// Counts says how many objects are in which state, for example
// "31 objects: 29 serving, 1 excluded, 1 rejected".
func Counts(byState map[string]int) string {
	total := 0
	var parts []string
	for _, state := range []verdict.State{verdict.Serving, verdict.Partial, verdict.Pending, verdict.Excluded, verdict.Rejected} {
		if n := byState[string(state)]; n > 0 {
			total += n
			parts = append(parts, fmt.Sprintf("%d %s", n, strings.ToLower(string(state))))
		}
	}
	if total == 0 {
		return "0 objects"
	}
	return Count(total, "object") + ": " + strings.Join(parts, ", ")
}

func gateways(s Style, all []admin.GatewayOverview) string {
	t := Table{Header: []string{"GATEWAY", "PROTOCOL", "ADDRESS", "HOST NAME", "ROUTES", "STATE"}}
	for _, g := range all {
		state := fmt.Sprintf("%s, acknowledged by %d of %s", g.State, g.Acknowledged, Count(g.Proxies, "proxy"))
		t.Rows = append(t.Rows, []Cell{T(g.Name), T(""), T(""), T(""), T(""), {state, stateMarks[g.State].color}})
		for _, l := range g.Listeners {
			t.Rows = append(t.Rows, listenerRow(l))
		}
	}
	return t.Render(s)
}

func listenerRow(l admin.ListenerOverview) []Cell {
	host := l.Hostname
	if host == "" {
		host = "any"
	}
	state := Cell{"programmed", Green}
	if !l.Programmed {
		state = Cell{reasoned(l.Reason, l.Message), Red}
	}
	return []Cell{T("  " + l.Name), T(l.Protocol), T(l.Address), T(host), T(fmt.Sprint(l.AttachedRoutes)), state}
}

func reasoned(reason, message string) string {
	if message == "" {
		return reason
	}
	return reason + ": " + message
}

// attentionIndent is where the name of an object starts: mark, state, and gaps.
const attentionIndent = 14

// Attention returns one thing to look at: the object, why, and where it stands.
func Attention(s Style, a admin.Attention) string {
	var b strings.Builder
	m := stateMarks[a.State]
	if a.State == verdict.Serving {
		m = stateMarks[verdict.Partial]
	}
	name := subject(a.Kind, a.Name, a.Where)
	fmt.Fprintf(&b, "  %s %s%s\n", s.mark(m), s.column(m.color, a.Label(), attentionIndent-4), s.Text(name))
	writeIndented(&b, s, fielded(a.Field, a.Message))
	var where []string
	if a.Where != "" && a.Name != "" {
		where = append(where, "file "+a.Where)
	}
	if a.Serves != "" {
		where = append(where, a.Serves)
	}
	if a.More > 0 {
		where = append(where, fmt.Sprintf("%d more: gatehouse why %s", a.More, name))
	}
	if len(where) > 0 {
		writeIndented(&b, s, strings.Join(where, " · "))
	}
	return b.String()
}

// subject names an object, or the place of what is no readable object.
func subject(kind, name, where string) string {
	if name == "" && where != "" {
		return "file " + where
	}
	return strings.TrimSpace(strings.ToLower(kind) + " " + name)
}

func writeIndented(b *strings.Builder, s Style, text string) {
	b.WriteString(strings.Repeat(" ", attentionIndent))
	hang(b, s.wrap(text, s.width()-attentionIndent), attentionIndent)
}
