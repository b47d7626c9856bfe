package script

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/pkg/spelling"
)

// fields are the fields of one mapping. Reading one that is wrong reports it and
// returns a harmless value.
type fields struct {
	p      *parser
	of     string // what they are fields of
	line   int
	values map[string]*yaml.Node
}

// fields reads a mapping that may have the known fields, each once.
func (p *parser) fields(n *yaml.Node, of string, known ...string) (fields, bool) {
	f := fields{p, of, n.Line, map[string]*yaml.Node{}}
	if n.Kind != yaml.MappingNode || strange(n) {
		p.problem(n.Line, "%s: %s stands where a mapping must be; its fields are %s", of, shown(n), strings.Join(known, ", "))
		return f, false
	}
	ok := true
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch first := f.values[key.Value]; {
		case key.Kind != yaml.ScalarNode || !slices.Contains(known, key.Value):
			p.problem(key.Line, "%s: %s is no field of it; %s", of, shown(key), meant(key.Value, "the fields are", known))
			ok = false
		case first != nil:
			p.problem(key.Line, "%s: %q is there already, in line %d; keep one", of, key.Value, first.Line)
			ok = false
		default:
			f.values[key.Value] = value
		}
	}
	return f, ok
}

// meant suggests a known name, or all.
func meant(name, all string, known []string) string {
	if best, ok := spelling.Closest(name, known); ok {
		return fmt.Sprintf("did you mean %q?", best)
	}
	for _, k := range known { // names too short for a third of them to differ
		if spelling.Distance(name, k) == 1 {
			return fmt.Sprintf("did you mean %q?", k)
		}
	}
	return all + " " + strings.Join(known, ", ")
}

// shown describes a node in errors.
func shown(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.AliasNode:
		return "the alias *" + n.Value
	case n.Anchor != "":
		return "the anchor &" + n.Anchor
	case n.Style&yaml.TaggedStyle != 0:
		return "the tag " + n.Tag
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case isNull(n):
		return "nothing"
	case len(n.Value) > 80:
		return strconv.Quote(n.Value[:80] + "…")
	}
	return strconv.Quote(n.Value)
}

// strange tells whether a node has what scripts do without: anchors, aliases, tags.
func strange(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || n.Anchor != "" || n.Style&yaml.TaggedStyle != 0
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func (f fields) has(name string) bool { return f.values[name] != nil }

// at returns the line of a field, or of the mapping.
func (f fields) at(name string) int {
	if n := f.values[name]; n != nil {
		return n.Line
	}
	return f.line
}

// problem reports what is wrong with a field.
func (f fields) problem(name, format string, args ...any) {
	f.p.problem(f.at(name), f.of+": "+name+": "+format, args...)
}

// text returns the plain value of a field; it is a problem if there is none.
func (f fields) text(name string) string {
	text, ok := f.p.scalar(f.values[name], f.of+": "+name)
	if !ok && f.values[name] == nil {
		f.problem(name, "is missing; add it")
	}
	return text
}

// scalar returns the text of a plain value.
func (p *parser) scalar(n *yaml.Node, what string) (string, bool) {
	switch {
	case n == nil:
		return "", false
	case strange(n):
		p.problem(n.Line, "%s: %s: scripts have no anchors, aliases and tags; write the value itself", what, shown(n))
	case n.Kind != yaml.ScalarNode || isNull(n):
		p.problem(n.Line, "%s: %s stands where one value must be; write the value", what, shown(n))
	default:
		return n.Value, true
	}
	return "", false
}

// duration returns a time of 0 or more.
func (f fields) duration(name string, otherwise time.Duration) time.Duration {
	if !f.has(name) {
		return otherwise
	}
	return f.p.duration(f.values[name], f.of+": "+name)
}

func (p *parser) duration(n *yaml.Node, what string) time.Duration {
	text, ok := p.scalar(n, what)
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil && isNumber(text):
		p.problem(n.Line, "%s: %s has no unit; write %ss or %sms", what, shown(n), text, text)
	case err != nil:
		p.problem(n.Line, "%s: %s is no time; write for example 500ms, 5s or 1m30s", what, shown(n))
	case d < 0:
		p.problem(n.Line, "%s: %s is negative; a time is 0s or more", what, shown(n))
	case d > MaxLength:
		p.problem(n.Line, "%s: %s is longer than %v; write a shorter time", what, shown(n), MaxLength)
	case d%time.Microsecond != 0:
		p.problem(n.Line, "%s: %s is finer than a microsecond; write whole microseconds", what, shown(n))
	default:
		return d
	}
	return 0
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil && !strings.HasPrefix(text, "-")
}

// required is the otherwise of a count that must be given.
const required = -1

// count returns a whole number from low to high.
func (f fields) count(name string, low, high, otherwise int) int {
	if !f.has(name) && otherwise != required {
		return otherwise
	}
	text := f.text(name)
	if text == "" {
		return low
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		f.problem(name, "%s is no number from %d to %d; write one", shown(f.values[name]), low, high)
		return low
	}
	return n
}

// end returns how a backend ends; the first of the possible ends is the default.
func (f fields) end(possible ...lab.End) lab.End {
	if !f.has("end") {
		return possible[0]
	}
	text := f.text("end")
	if text != "" && !slices.Contains(possible, lab.End(text)) {
		f.problem("end", "%s is no way to end; write %s", shown(f.values["end"]), oneOf(possible))
	}
	return lab.End(text)
}

func oneOf(ends []lab.End) string {
	var words []string
	for _, end := range ends {
		words = append(words, string(end))
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
