package script

import (
	"encoding/binary"
	"net/netip"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

var (
	// network is where backends are.
	network = netip.MustParsePrefix("10.0.0.0/8")
	// named is where backends are that have a name instead of an address.
	named = netip.MustParsePrefix("10.128.0.0/9")
	// own is the laboratory's side of the network.
	own   = netip.MustParseAddr("10.0.0.1")
	label = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
)

// backend is what the steps so far say about one backend.
type backend struct {
	address string
	present bool // proxies are told that it is there
	lost    bool // it is there, but ended
	end     lab.End
	line    int // of the step that said so last
}

// names returns the backends of a field: one, or a list.
func (p *parser) names(n *yaml.Node, what string) []string {
	if n == nil {
		p.problem(p.line, "%s: backends are missing; name one or a list", what)
		return nil
	}
	list := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode && !strange(n) {
		list = n.Content
	}
	if len(list) == 0 {
		p.problem(n.Line, "%s: the list is empty; name a backend", what)
	}
	names := make([]string, 0, len(list))
	for _, item := range list {
		names = append(names, p.name(item, what))
	}
	return names
}

// name returns the name of a backend: an IPv4 address of the laboratory's network,
// or a DNS label.
func (p *parser) name(n *yaml.Node, what string) string {
	text, ok := p.scalar(n, what)
	if !ok {
		return ""
	}
	address, err := netip.ParseAddr(text)
	switch {
	case err != nil && !label.MatchString(text):
		p.problem(n.Line, "%s: %s is neither an IPv4 address nor a DNS label (a-z, 0-9 and -, at most 63); name it for example 10.0.1.11 or blue-1", what, shown(n))
	case err != nil:
	case !network.Contains(address):
		p.problem(n.Line, "%s: %s is outside of %v, where backends are; use for example 10.0.1.11", what, shown(n), network)
	case named.Contains(address):
		p.problem(n.Line, "%s: %s is in %v, where backends without an address get theirs; use for example 10.0.1.11", what, shown(n), named)
	case address == own || address == network.Addr():
		p.problem(n.Line, "%s: %s is the laboratory's own; use for example 10.0.1.11", what, shown(n))
	}
	return text
}

// addressOf returns a name that is an address, or the next free address.
func (p *parser) addressOf(name string) string {
	if strings.Contains(name, ".") {
		return name
	}
	p.addresses++
	first := named.Addr().As4()
	var next [4]byte
	binary.BigEndian.PutUint32(next[:], binary.BigEndian.Uint32(first[:])+p.addresses)
	return netip.AddrFrom4(next).String()
}

// doubt makes unsure of every name in a step that cannot be read.
func (p *parser) doubt(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		p.unsure[n.Value] = true
	}
	for _, child := range n.Content {
		p.doubt(child)
	}
}

// doubtful tells whether a name, or the name of its group, is unsure.
func (p *parser) doubtful(name string) bool {
	return p.unsure[name] || p.unsure[name[:max(0, strings.LastIndexByte(name, '-'))]]
}

// clash reports the first contradiction of a step.
func (p *parser) clash(name, format string, args ...any) {
	if !p.clashed && !p.doubtful(name) {
		p.problem(p.line, format, args...)
		p.clashed = true
	}
}

// add makes a backend routable, after a time since the beginning of the step.
func (p *parser) add(after time.Duration, name string) {
	b := p.backends[name]
	switch {
	case b == nil:
		b = &backend{address: p.addressOf(name)}
		p.backends[name] = b
	case b.lost:
		p.clash(name, "add %q: it is lost since line %d, but not removed; remove it first, or use another name", name, b.line)
	case b.present:
		p.clash(name, "add %q: it is there since line %d; remove it first, or use another name", name, b.line)
	}
	b.present, b.lost, b.line = true, false, p.line
	p.emit(after, lab.Event{Kind: lab.Add, Backend: name, Address: b.address})
}

// remove ends a backend and tells so; for one that is lost it only tells.
func (p *parser) remove(after time.Duration, name string, end lab.End, grace time.Duration) {
	b := p.there("remove", name)
	if b.lost && (end != lab.Stop && end != b.end || grace > 0) {
		p.clash(name, "remove %q: it is lost since line %d and has ended by %s; give no other end or grace", name, b.line, b.end)
	}
	if b.lost {
		end, grace = b.end, 0
	}
	b.present, b.lost, b.line = false, false, p.line
	p.emit(after, lab.Event{Kind: lab.Remove, Backend: name, Address: b.address, End: end, Grace: lab.Moment(grace)})
}

// lose ends a backend without telling.
func (p *parser) lose(after time.Duration, name string, end lab.End) {
	b := p.there("lose", name)
	if b.lost {
		p.clash(name, "lose %q: it is lost since line %d; leave it out", name, b.line)
	}
	b.lost, b.end, b.line = true, end, p.line
	p.emit(after, lab.Event{Kind: lab.Lose, Backend: name, Address: b.address, End: end})
}

// there returns a backend that must be present.
func (p *parser) there(what, name string) *backend {
	b := p.backends[name]
	switch {
	case b == nil:
		p.clash(name, "%s %q: it was never added; add it in an earlier step, or leave this out", what, name)
		b = &backend{address: p.addressOf(name)}
		p.backends[name] = b
	case !b.present:
		p.clash(name, "%s %q: it was removed in line %d; add it again before, or leave this out", what, name, b.line)
	}
	return b
}

// emit appends an event to the step.
func (p *parser) emit(after time.Duration, e lab.Event) {
	if p.full = len(p.script.events) == MaxEvents; p.full {
		return
	}
	e.At, e.Line = lab.Moment(after), p.line
	p.script.events = append(p.script.events, e)
}
