package script

import (
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// stepNames are the kinds of steps, as scripts write them.
var stepNames = []string{"add", "remove", "replace", "lose", "reload", "pause", "scale", "rolling-update", "node-loss"}

// step reads one step: "reload", or a mapping from one kind to what it needs, with
// the time "at" beside it.
func (p *parser) step(n *yaml.Node) {
	first := len(p.script.events)
	s := step{line: n.Line, first: first}
	kind, value, at := p.split(n)
	if kind == "" {
		return
	}
	if at != nil && kind == "pause" {
		p.problem(at.Line, "pause: it has no \"at\"; give the time to the step that follows")
	} else if at != nil {
		s.fixed, s.at = true, p.duration(at, "at")
		p.script.timed = true
	}
	if s.pause = kind == "pause"; s.pause {
		p.script.timed = true
	}
	s.takes = p.event(kind, value)
	s.end = len(p.script.events)
	p.script.steps = append(p.script.steps, s)
}

// split takes a step apart; kind is empty after a problem.
func (p *parser) split(n *yaml.Node) (kind string, value, at *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Value == "reload" && !strange(n) {
		return n.Value, nil, nil
	}
	if n.Kind == yaml.ScalarNode && slices.Contains(stepNames, n.Value) {
		p.problem(n.Line, "step %q: it does not say what; write for example \"- add: 10.0.1.11\"", n.Value)
		return "", nil, nil
	}
	if n.Kind != yaml.MappingNode || strange(n) {
		p.problem(n.Line, "step %s: %s", shown(n), meant(n.Value, "a step is a mapping; the steps are", stepNames))
		return "", nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i], n.Content[i+1]
		switch {
		case key.Value == "at" && at != nil:
			p.problem(key.Line, "step: at: it is there already, in line %d; keep one", at.Line)
			return "", nil, nil
		case key.Value == "at":
			at = v
		case !slices.Contains(stepNames, key.Value):
			p.problem(key.Line, "step %s: there is no such step; %s", shown(key), meant(key.Value, "the steps are", stepNames))
			return "", nil, nil
		case kind != "":
			p.problem(key.Line, "step %q: it also has %q, and a step does one thing; begin each with its own \"- \"", kind, key.Value)
			return "", nil, nil
		default:
			kind, value = key.Value, v
		}
	}
	if kind == "" {
		p.problem(n.Line, "step: it says when, but not what; add one of %s", strings.Join(stepNames, ", "))
	}
	return kind, value, at
}

// event emits the events of a step and returns what time it takes.
func (p *parser) event(kind string, n *yaml.Node) time.Duration {
	switch kind {
	case "pause":
		return p.duration(n, "pause")
	case "add":
		p.addStep(n)
	case "remove":
		p.removeStep(n)
	case "replace":
		p.replaceStep(n)
	case "lose":
		p.loseStep(n)
	case "reload":
		p.reloadStep(n)
	case "scale":
		return p.scale(n)
	case "rolling-update":
		return p.rollingUpdate(n)
	case "node-loss":
		return p.nodeLoss(n)
	}
	return 0
}

func (p *parser) addStep(n *yaml.Node) {
	before := p.problems()
	names := p.names(n, "add")
	if p.problems() > before {
		return
	}
	for _, name := range names {
		p.add(0, name)
	}
}

// ended are backends, and how they end.
type ended struct {
	names []string
	end   lab.End
	grace time.Duration
	ok    bool
}

// ended reads backends by themselves, or with how they end.
func (p *parser) ended(n *yaml.Node, what string, possible ...lab.End) ended {
	before := p.problems()
	e := ended{end: possible[0]}
	if n.Kind != yaml.MappingNode {
		e.names = p.names(n, what)
	} else if f, ok := p.fields(n, what, "backends", "end", "grace"); ok {
		e.names = p.names(f.values["backends"], what)
		e.end, e.grace = f.end(possible...), f.duration("grace", 0)
	}
	e.ok = p.problems() == before
	return e
}

func (p *parser) removeStep(n *yaml.Node) {
	e := p.ended(n, "remove", lab.Stop, lab.Kill, lab.Vanish)
	for _, name := range e.names {
		if e.ok {
			p.remove(0, name, e.end, e.grace)
		}
	}
}

func (p *parser) loseStep(n *yaml.Node) {
	e := p.ended(n, "lose", lab.Vanish, lab.Kill)
	if e.grace > 0 {
		p.problem(n.Line, "lose: a lost backend has no grace; leave it out")
		return
	}
	for _, name := range e.names {
		if e.ok {
			p.lose(0, name, e.end)
		}
	}
}

func (p *parser) replaceStep(n *yaml.Node) {
	before := p.problems()
	f, ok := p.fields(n, "replace", "old", "new", "end", "grace")
	if !ok {
		return
	}
	last, next := p.names(f.values["old"], "replace: old"), p.names(f.values["new"], "replace: new")
	end, grace := f.end(lab.Stop, lab.Kill, lab.Vanish), f.duration("grace", 0)
	if p.problems() > before {
		return
	}
	for _, name := range next {
		p.add(0, name)
	}
	for _, name := range last {
		p.remove(0, name, end, grace)
	}
}

// reloadStep reloads all proxies that do, or those named.
func (p *parser) reloadStep(n *yaml.Node) {
	p.reloads = true
	if n == nil || isNull(n) {
		p.emit(0, lab.Event{Kind: lab.Reload})
		return
	}
	list := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode && len(n.Content) > 0 && !strange(n) {
		list = n.Content
	}
	for _, item := range list {
		proxy, ok := p.scalar(item, "reload")
		if ok && proxy == "" {
			p.problem(item.Line, "reload: the proxy's name is empty; name one, or write \"- reload\" for all")
		}
		p.emit(0, lab.Event{Kind: lab.Reload, Proxy: proxy})
	}
}
