package compile

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// admitted is a ListenerSet that attaches to a Gateway.
type admitted struct {
	Name      string // "namespace/name"
	Selection string // that lets it in, or empty
}

// merge adds to a Gateway the listeners of the ListenerSets that attach to it: the
// older set first, ties by name.
func (b *build) merge(c *derive.Ctx, key string, g gateway) (gateway, bool) {
	if !g.Managed {
		return gateway{}, false
	}
	var sets []listenerSet
	selections := map[string]string{}
	for _, item := range derive.All(c, b.setsByGateway, key) {
		set, _ := derive.Get(c, b.setWishes, item.Key)
		sets = append(sets, set)
		selections[set.Set] = item.Value.Selection
	}
	slices.SortFunc(sets, func(x, y listenerSet) int {
		return cmp.Or(cmp.Compare(x.Created, y.Created), strings.Compare(x.Set, y.Set))
	})
	taken := holdings{}
	g.Listeners = slices.Clone(g.Listeners)
	for i := range g.Listeners {
		g.Listeners[i].verifyClients(g.Frontend)
		taken.add(g.Listeners[i].section)
	}
	for _, set := range sets {
		g.Sets = append(g.Sets, admitted{set.Set, selections[set.Set]})
		own := slices.Clone(set.Listeners)
		for i := range own {
			own[i].verifyClients(g.Frontend)
		}
		b.admit(c, own, taken)
		g.Listeners = append(g.Listeners, own...)
	}
	overlap(g.Listeners)
	return g, true
}

// admit settles which listeners of a ListenerSet are accepted: first those are
// refused that one before keeps from its port or host name, then those that conflict
// among themselves. One without anything to serve with keeps nothing from others.
func (b *build) admit(c *derive.Ctx, own []listener, taken holdings) {
	var left []*listener
	for _, l := range pointers(own) {
		if why := taken.against(*l); why != nil {
			l.Conflict, l.Refused = true, why
		} else {
			left = append(left, l)
		}
	}
	conflict(left)
	for _, l := range left {
		if l.Refused == nil && l.terminates() {
			l.Dark = first(b.verify(c, *l).None, b.choose(c, *l).none())
		}
		if l.Accepted = l.Refused == nil && l.Dark == nil; l.Accepted {
			taken.add(l.section)
		}
	}
}

// holdings are the listeners that hold ports and host names, by "port" with the
// protocol family, and by host name of a port. Those of a Gateway hold theirs
// even where they are refused, so that a mistake there gives nothing away.
type holdings map[string]section

func (h holdings) add(s section) {
	if s.Protocol == "" {
		return
	}
	for _, key := range []string{familyKey(s.portKey(), family(s.Protocol)), ownerItem(s.portKey(), family(s.Protocol), s.Hostname)} {
		if _, taken := h[key]; !taken {
			h[key] = s
		}
	}
}

// against is why a listener cannot serve beside those that hold.
func (h holdings) against(l listener) *problem {
	if l.Protocol == "" {
		return nil
	}
	for _, protocol := range families {
		other, taken := h[familyKey(l.portKey(), protocol)]
		if taken && !together(l.Protocol, protocol) {
			return l.loses(verdict.ProtocolConflict, other, fmt.Sprintf("port %d is used for %s", l.Port, other.Protocol))
		}
	}
	other, taken := h[ownerItem(l.portKey(), family(l.Protocol), l.Hostname)]
	if !taken {
		return nil
	}
	return l.loses(verdict.HostnameConflict, other, fmt.Sprintf("port %d and host name %q are the same", l.Port, domainOf(l.Hostname)))
}

func (l listener) loses(reason verdict.Reason, to section, what string) *problem {
	return problemf(reason, l.Field, "listener %s conflicts with %s, which goes before it: %s", l.Name, to.title(), what).about(to.holder())
}

// families are the protocols that ports are shared by.
var families = []model.Protocol{model.HTTP, model.TLS, model.TCP, model.UDP}

// together tells whether a listener of a protocol can share a port with those of a family.
func together(p, other model.Protocol) bool {
	return p != model.TCP && p != model.UDP && family(p) == other
}

// familyKey is "port/family".
func familyKey(port portKey, family model.Protocol) string {
	return string(port) + "/" + string(family)
}

// ownerItem is "port/family/host name".
func ownerItem(port portKey, family model.Protocol, hostname string) string {
	return familyKey(port, family) + "/" + domainOf(hostname)
}

// sectionItems are the listeners that routes find by the name of the Gateway.
func sectionItems(_ *derive.Ctx, _ string, g gateway) []derive.Item[section] {
	var items []derive.Item[section]
	for _, l := range g.Listeners {
		if l.Set == "" {
			items = append(items, derive.Item[section]{Key: l.Name, Value: l.section})
		}
	}
	return items
}

// setSectionItems are those that they find by the name of a ListenerSet.
func setSectionItems(_ *derive.Ctx, _ string, g gateway) []derive.Item[section] {
	var items []derive.Item[section]
	for _, l := range g.Listeners {
		if l.Set != "" {
			items = append(items, derive.Item[section]{Key: derive.JoinKey(l.Set, l.Name), Value: l.section})
		}
	}
	return items
}

// ownerItems are the accepted listeners of a Gateway by what they own, so that a
// route reads only those that its own requests could belong to.
func ownerItems(_ *derive.Ctx, _ string, g gateway) []derive.Item[section] {
	var items []derive.Item[section]
	for _, l := range g.Listeners {
		if l.Accepted && l.named() {
			items = append(items, derive.Item[section]{
				Key:   ownerItem(l.portKey(), family(l.Protocol), l.Hostname),
				Value: section{Gateway: l.Gateway, Set: l.Set, Name: l.Name},
			})
		}
	}
	return items
}

// covering yields the host names that cover one, the most specific first: itself,
// wildcards, and any.
func covering(hostname string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if hostname == "" {
			yield("")
			return
		}
		if !yield(hostname) {
			return
		}
		rest := strings.TrimPrefix(hostname, "*.")
		for {
			_, parent, more := strings.Cut(rest, ".")
			if !more {
				break
			}
			if !yield("*." + parent) {
				return
			}
			rest = parent
		}
		yield("")
	}
}
