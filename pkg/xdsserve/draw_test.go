package xdsserve

import (
	"fmt"

	"pgregory.net/rapid"
)

// drawState draws a consistent set of resources: what is used is there.
func drawState(t *rapid.T) map[Scoped]Resource {
	state, used := map[Scoped]Resource{}, map[Name]bool{}
	variant := func(label string) int { return rapid.IntRange(1, 3).Draw(t, label) }
	add := func(group string, typ Type, name string, slow bool, uses ...Name) {
		v := fmt.Sprintf("%d %v %v", variant(name), slow, shortNames(uses))
		r := Resource{
			Name: Name{typ, name}, Group: group, Version: v, SlowToWarm: slow, Uses: uses,
			Body: fmt.Appendf(nil, "%s %s %s", typ, name, v), Origins: []string{name},
		}
		if typ == Routes || typ == Scopes {
			drawParts(t, &r)
		}
		state[Scoped{group, r.Name}] = r
	}
	pick := func(typ Type, prefix string, atLeast, of int) []Name {
		var names []Name
		for i := range of {
			if rapid.Bool().Draw(t, "use") || (i == of-1 && len(names) < atLeast) {
				n := Name{typ, fmt.Sprint(prefix, i)}
				names, used[n] = append(names, n), true
			}
		}
		return names
	}
	for i := range 3 {
		if rapid.Bool().Draw(t, "listener") {
			uses := append(pick(Routes, "t", 1, 3), pick(Secret, "s", 0, 2)...)
			if rapid.Bool().Draw(t, "scoped") {
				uses[0] = Name{Scopes, "x/"}
				used[uses[0]] = true
			}
			add("g", Listener, fmt.Sprint("l", i), false, uses...)
		}
	}
	for i := range 3 {
		if n := (Name{Routes, fmt.Sprint("t", i)}); used[n] || rapid.Bool().Draw(t, "spare table") {
			add("g", Routes, n.Name, false, pick(Cluster, "c", 1, 4)...)
		}
	}
	if used[Name{Scopes, "x/"}] || rapid.Bool().Draw(t, "spare scopes") {
		add("g", Scopes, "x/", false, pick(Cluster, "c", 0, 4)...)
		for _, part := range []string{"x/a", "x/b"} {
			if rapid.Bool().Draw(t, part) {
				add("g", Scopes, part, false, pick(Cluster, "c", 0, 4)...)
			}
		}
	}
	for i := range 4 {
		if n := (Name{Cluster, fmt.Sprint("c", i)}); used[n] || rapid.Bool().Draw(t, "spare cluster") {
			e := Name{Endpoints, n.Name}
			add("g", Cluster, n.Name, rapid.IntRange(0, 3).Draw(t, "slow") == 0, e)
			add("g", Endpoints, n.Name, false)
		}
	}
	for i := range 2 {
		if n := (Name{Secret, fmt.Sprint("s", i)}); used[n] {
			add(rapid.SampledFrom([]string{"", "g"}).Draw(t, "group"), Secret, n.Name, false)
		}
	}
	return state
}

// drawParts gives each use of a table to a part of it.
func drawParts(t *rapid.T, r *Resource) {
	uses, first := r.Uses, rapid.IntRange(0, 3).Draw(t, "first part")
	r.Uses = nil
	for i := range uses {
		u := uses[(i+first)%len(uses)]
		text := fmt.Sprintf("\n%d %d %s", i, rapid.IntRange(1, 2).Draw(t, "part"), u.Name)
		r.Version += text
		r.add(Part{Name: fmt.Sprint(i), To: len(text), Uses: []Name{u}}, []byte(text))
	}
}

func shortNames(ns []Name) (s []string) {
	for _, n := range ns {
		s = append(s, n.Name)
	}
	return s
}
