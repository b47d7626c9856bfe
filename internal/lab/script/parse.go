package script

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// example is what remedies show of the format.
const example = `"steps:", then one "- add: 10.0.1.11" a line`

// Parse reads and checks the text of a script; file names it in errors, which are
// *Error.
func Parse(file string, text []byte) (*Script, error) {
	p := &parser{script: &Script{File: file, Name: file}, backends: map[string]*backend{}, unsure: map[string]bool{}}
	if root := p.document(text); root != nil {
		p.top(root)
	}
	if err := p.found.err(); err != nil {
		return nil, err
	}
	return p.script, nil
}

// parser reads one script.
type parser struct {
	script *Script
	found  Error
	line   int // of the step that is read

	backends  map[string]*backend
	addresses uint32 // given to names so far
	// unsure holds the names in steps that could not be read: whether they are
	// there is unknown, so nothing is said about it.
	unsure map[string]bool
	// clashed: the step has said already that a backend is there or is not.
	clashed bool
	// full: a step would emit more than MaxEvents.
	full bool
	// reloads: the script says when to reload.
	reloads bool
}

func (p *parser) problem(line int, format string, args ...any) {
	p.found.add(Problem{p.script.File, line, fmt.Sprintf(format, args...)})
}

// problems counts what was found so far.
func (p *parser) problems() int { return len(p.found.Problems) + p.found.More }

// document returns the one document of a text, or nil after a problem.
func (p *parser) document(text []byte) *yaml.Node {
	if len(text) > MaxSize {
		p.problem(0, "has %d bytes, more than %d; let generators (scale, rolling-update) write the steps", len(text), MaxSize)
		return nil
	}
	if p.garbled(text) {
		return nil
	}
	var root yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	err := decoder.Decode(&root)
	if err == nil && len(root.Content) == 1 && !isNull(root.Content[0]) {
		return p.only(&root, decoder)
	}
	if err == nil || errors.Is(err, io.EOF) {
		p.problem(0, "is empty; write %s", example)
		return nil
	}
	p.syntax(err)
	return nil
}

// only returns the document if the decoder has no other.
func (p *parser) only(root *yaml.Node, decoder *yaml.Decoder) *yaml.Node {
	var second yaml.Node
	switch err := decoder.Decode(&second); {
	case errors.Is(err, io.EOF):
		return root.Content[0]
	case err != nil:
		p.syntax(err)
	default:
		p.problem(second.Line, "a second document begins; a script is one document, so keep each in a file of its own")
	}
	return nil
}

// garbled reports what no YAML text has: bytes that are not UTF-8 or control characters,
// once, for such a file is no text; and tabs where spaces must be.
func (p *parser) garbled(text []byte) bool {
	before := p.problems()
	line := 0
	for row := range bytes.Lines(text) {
		line++
		switch {
		case !utf8.Valid(row):
			p.problem(line, "is not UTF-8 text; a script is a YAML file")
			return true
		case bytes.IndexFunc(row, isControl) >= 0:
			p.problem(line, "has the control character %q; a script is a YAML text file", row[bytes.IndexFunc(row, isControl)])
			return true
		case bytes.HasPrefix(bytes.TrimLeft(row, " "), []byte("\t")):
			p.problem(line, "a tab begins the line; YAML indents with spaces")
		}
	}
	return p.problems() > before
}

func isControl(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f }

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// syntax reports an error of the YAML library.
func (p *parser) syntax(err error) {
	m := yamlLine.FindStringSubmatch(err.Error())
	if m == nil || m[1] == "" {
		p.problem(0, "is not YAML: %s; write %s", strings.TrimPrefix(err.Error(), "yaml: "), example)
		return
	}
	line, _ := strconv.Atoi(m[1])
	p.problem(line, "not YAML: %s; correct this line or its neighbours", m[2])
}

// top reads the fields of the script.
func (p *parser) top(root *yaml.Node) {
	f, _ := p.fields(root, "script", "name", "every", "reload", "steps")
	if f.has("name") {
		p.title(f)
	}
	if f.has("every") {
		p.script.timed, p.script.every = true, f.duration("every", 0)
	}
	if f.has("reload") {
		p.policy(f.values["reload"])
	}
	switch steps := f.values["steps"]; {
	case root.Kind != yaml.MappingNode:
	case steps == nil || steps.Kind == yaml.SequenceNode && len(steps.Content) == 0:
		p.problem(f.at("steps"), "steps: there are none; write %s", example)
	case steps.Kind != yaml.SequenceNode || strange(steps):
		p.problem(steps.Line, "steps: %s stands where a list must be; write %s", shown(steps), example)
	default:
		p.steps(steps.Content)
		p.order()
	}
}

// maxTitle is how long a script's name may be, in bytes.
const maxTitle = 100

// title reads what the script calls itself.
func (p *parser) title(f fields) {
	before := p.problems()
	p.script.Name = f.text("name")
	if long := len(p.script.Name) > maxTitle; p.problems() == before && (long || p.script.Name == "" || strings.Contains(p.script.Name, "\n")) {
		f.problem("name", "%s is no name; write one line of at most %d bytes", shown(f.values["name"]), maxTitle)
	}
}

// policy reads when proxies that reload do so by themselves.
func (p *parser) policy(n *yaml.Node) {
	f, ok := p.fields(n, "reload", "interval", "batch")
	if !ok {
		return
	}
	p.reloads = true
	p.script.reload = lab.Policy{
		OnChange: true,
		Interval: lab.Moment(f.duration("interval", 0)),
		Batch:    lab.Moment(f.duration("batch", 0)),
	}
}

// steps reads the steps; those that cannot be read leave their names unsure.
func (p *parser) steps(all []*yaml.Node) {
	for _, n := range all {
		before := p.problems()
		p.line, p.clashed = n.Line, false
		if p.step(n); p.problems() > before && !p.clashed {
			p.doubt(n)
		}
		if p.full {
			p.problem(n.Line, "with this step the script has more than %d events; leave steps out", MaxEvents)
			return
		}
	}
	if !p.reloads {
		p.script.reload = lab.Policy{OnChange: true, Interval: lab.Moment(usualInterval)}
	}
}

// order checks that steps with fixed times come after those before them, and that
// the script ends.
func (p *parser) order() {
	s := p.script
	var end time.Duration
	for i, begin := range s.begins(s.every) {
		if begin < end {
			p.problem(s.steps[i].line, "at %v: the step before, in line %d, ends at %v; order the steps by time", begin, s.steps[i-1].line, end)
		}
		if end = begin + s.steps[i].takes; end > MaxLength {
			p.problem(s.steps[i].line, "this step ends %v after the start, and a run takes at most %v; shorten the times", end, MaxLength)
			return
		}
	}
}
