package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// stageIndent is where the messages of steps start: mark, stage, and gaps.
const stageIndent = 14

// Why returns the answer to "why" for one object.
func Why(s Style, v verdict.Verdict) string {
	var b strings.Builder
	b.WriteString(Object(s, v))
	for _, step := range v.Steps {
		whyStep(&b, s, step)
	}
	for _, r := range v.Proxies.Refused {
		stepLine(&b, s, marks[verdict.WasRejected], "proxy",
			fmt.Sprintf("%s refuses %s %s: %s", r.Proxy, r.Resource.Type, r.Resource.Name, r.Message))
	}
	if len(v.Resources) > 0 {
		b.WriteByte('\n')
		stepLine(&b, s, mark{symbol: " "}, "resources", resources(v.Resources))
	}
	return b.String()
}

func whyStep(b *strings.Builder, s Style, step verdict.Step) {
	text := step.Message
	if step.Outcome != verdict.OK {
		text = fielded(step.Field, text)
		if step.Reason != "" {
			text += " [" + step.Reason + "]"
		}
		if remedy := admin.Remedy(step); remedy != "" {
			text += " → " + remedy
		}
	}
	if also := unmentioned(step); also != "" {
		text += " → see also " + also
	}
	stepLine(b, s, marks[step.Outcome], string(step.Stage), text)
}

// unmentioned lists related objects that the message does not name.
func unmentioned(step verdict.Step) string {
	var out []string
	for _, r := range step.Related {
		if !strings.Contains(step.Message, r.Name) {
			out = append(out, strings.ToLower(r.Collection)+" "+r.Name)
		}
	}
	return strings.Join(out, ", ")
}

func stepLine(b *strings.Builder, s Style, m mark, stage, text string) {
	fmt.Fprintf(b, " %s %s", s.mark(m), pad(stage, stageIndent-3))
	hang(b, s.wrap(text, s.width()-stageIndent), stageIndent)
}

// fewResources is how many resources are named; all are in the JSON form.
const fewResources = 6

func resources(all []verdict.Resource) string {
	var names []string
	for _, r := range all[:min(len(all), fewResources)] {
		names = append(names, r.Type+" "+r.Name)
	}
	text := strings.Join(names, " · ")
	if more := len(all) - fewResources; more > 0 {
		text += fmt.Sprintf(" · and %d more (-o json)", more)
	}
	return text
}

// NeverSeen says what would have to be true for an object to be seen.
func NeverSeen(s Style, n admin.NeverSeen) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s.\n", s.Paint(Bold, s.Text(n.Kind+" "+n.Name)), s.Paint(Red, "was never seen"))
	reasons := n.Reasons
	if len(n.Closest) > 0 {
		reasons = append(slices.Clip(reasons), "closest names: "+strings.Join(n.Closest, ", "))
	}
	for _, r := range reasons {
		fmt.Fprintf(&b, "  %s ", s.Text("·"))
		hang(&b, s.wrap(r, s.width()-4), 4)
	}
	return b.String()
}
