package acceptance

import (
	"cmp"
	"slices"

	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// group is one object that changed: all keys under which it is known.
type group struct {
	identity string
	keys     []store.Key
	created  int64
}

// age orders groups: older before younger, then by name.
func age(a, b group) int {
	return cmp.Or(cmp.Compare(a.created, b.created), cmp.Compare(a.identity, b.identity))
}

// captured are the changes from one view to another: those of objects, by age, and
// the keys of what is no object.
func (r Rules) captured(from, to store.View) (groups []group, always []store.Key) {
	at := map[string]int{}
	for c := range store.Diff(from, to) {
		identity := r.identity(c.Key)
		if identity == "" {
			always = append(always, c.Key)
			continue
		}
		i, known := at[identity]
		if !known {
			i = len(groups)
			at[identity] = i
			groups = append(groups, group{identity: identity})
		}
		groups[i].add(r, c)
	}
	slices.SortFunc(groups, age)
	return groups, always
}

func (g *group) add(r Rules, c store.Change) {
	g.keys = append(g.keys, c.Key)
	if r.Created == nil {
		return
	}
	value := c.New
	if value == nil {
		value = c.Old
	}
	if created := r.Created(value); len(g.keys) == 1 || created < g.created {
		g.created = created
	}
}

func (r Rules) identity(key store.Key) string {
	if r.Identity == nil {
		return key.String()
	}
	return r.Identity(key)
}

// keysOf are the keys of groups.
func keysOf(groups []group) []store.Key {
	var keys []store.Key
	for _, g := range groups {
		keys = append(keys, g.keys...)
	}
	return keys
}

// except are the groups without some.
func except(groups []group, out func(group) bool) []group {
	return slices.DeleteFunc(slices.Clone(groups), out)
}
