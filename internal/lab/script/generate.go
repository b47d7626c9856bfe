package script

import (
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// maxGroup is how many backends a generator may name.
const maxGroup = 100_000

// group reads the name of backends that are numbered from 1: blue-1, blue-2, …
func (f fields) group(name string) string {
	text := f.text(name)
	if text != "" && !label.MatchString(member(text, maxGroup)) {
		f.problem(name, "%s is no DNS label (a-z, 0-9 and -, at most 56); name the group for example blue", shown(f.values[name]))
	}
	return text
}

func member(group string, number int) string { return fmt.Sprintf("%s-%d", group, number) }

// scale changes how many backends a group has, one after the other, the first at once.
func (p *parser) scale(n *yaml.Node) time.Duration {
	before := p.problems()
	f, ok := p.fields(n, "scale", "name", "from", "to", "over", "end", "grace")
	if !ok {
		return 0
	}
	name, over := f.group("name"), f.duration("over", 0)
	from, to := f.count("from", 0, maxGroup, 0), f.count("to", 0, maxGroup, required)
	end, grace := f.end(lab.Stop, lab.Kill, lab.Vanish), f.duration("grace", 0)
	if p.problems() == before && from == to {
		p.problem(f.line, "scale: from and to are both %d, so nothing changes; change one", to)
	}
	if p.problems() > before {
		return 0
	}
	changes := max(from-to, to-from)
	for i := range changes {
		after := (over * time.Duration(i) / time.Duration(changes)).Truncate(time.Microsecond)
		if from < to {
			p.add(after, member(name, from+1+i))
		} else {
			p.remove(after, member(name, from-i), end, grace)
		}
	}
	return over
}

// rollingUpdate replaces a group by another as a Deployment does: surge new backends
// start and take a while until they are ready; as they become routable, as many old
// ones are removed, and the next start.
func (p *parser) rollingUpdate(n *yaml.Node) time.Duration {
	before := p.problems()
	f, ok := p.fields(n, "rolling-update", "from", "to", "pods", "surge", "ready", "drain", "end")
	if !ok {
		return 0
	}
	last, next := f.group("from"), f.group("to")
	pods := f.count("pods", 1, maxGroup, required)
	surge := f.count("surge", 1, pods, 1)
	ready, drain := f.duration("ready", time.Second), f.duration("drain", 0)
	end := f.end(lab.Stop, lab.Kill, lab.Vanish)
	if p.problems() == before && last == next {
		p.problem(f.line, "rolling-update: from and to are both %q; name the new backends differently", next)
	}
	if p.problems() > before {
		return 0
	}
	var now time.Duration
	for first := 1; first <= pods; first += surge {
		now += ready
		past := min(first+surge, pods+1)
		for i := first; i < past; i++ {
			p.add(now, member(next, i))
		}
		for i := first; i < past; i++ {
			p.remove(now, member(last, i), end, drain)
		}
	}
	return now
}

// nodeLoss ends backends at once, and tells after the notice.
func (p *parser) nodeLoss(n *yaml.Node) time.Duration {
	before := p.problems()
	f, ok := p.fields(n, "node-loss", "backends", "end", "notice")
	if !ok {
		return 0
	}
	names, end := p.names(f.values["backends"], "node-loss"), f.end(lab.Vanish, lab.Kill)
	notice := f.duration("notice", 0)
	if p.problems() > before {
		return 0
	}
	for _, name := range names {
		p.lose(0, name, end)
	}
	for _, name := range names {
		p.remove(notice, name, end, 0)
	}
	return notice
}
