package xdsserve

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	discovery_v3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/types/known/anypb"
)

// item is one published resource. It is immutable and shared by all sessions.
type item struct {
	Resource
	key  key
	uses []key
	seq  uint64                 // of the Publish that brought this version
	at   time.Time              // of that Publish
	wire *discovery_v3.Resource // nil where only the version is known
	// foreign marks what a proxy brought along from an earlier stream and that
	// is not published: its version is known, what it uses is not.
	foreign bool
	blank   bool // see session.unstick
}

// catalog is everything published. Server.mu guards it.
type catalog struct {
	seq    uint64
	groups map[string]*shelf
}

type shelf [numKinds]map[string]*item

func newItem(k kind, r Resource, seq uint64, at time.Time) *item {
	return &item{
		Resource: r, key: key{k, r.Name.Name}, uses: usedKeys(r.Uses), seq: seq, at: at,
		wire: &discovery_v3.Resource{
			Name: r.Name.Name, Version: r.Version,
			Resource: &anypb.Any{TypeUrl: string(r.Type), Value: r.Body},
		},
	}
}

// usedKeys returns the distinct served names among uses, sorted.
func usedKeys(uses []Name) []key {
	keys := make([]key, 0, len(uses))
	for _, u := range uses {
		if k, ok := kindOf(u.Type); ok {
			keys = append(keys, key{k, u.Name})
		}
	}
	slices.SortFunc(keys, compareKeys)
	return slices.Compact(keys)
}

func compareKeys(a, b key) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name))
}

func (i *item) usesKey(k key) bool {
	_, found := slices.BinarySearchFunc(i.uses, k, compareKeys)
	return found
}

// find returns what a proxy of the group sees under a key: its own group's
// resource, else the shared one, else nil.
func (c *catalog) find(group string, k key) *item {
	if it := c.get(group, k); it != nil {
		return it
	}
	return c.get("", k)
}

func (c *catalog) get(group string, k key) *item {
	if s := c.groups[group]; s != nil {
		return s[k.kind][k.name]
	}
	return nil
}

// set stores a resource and reports whether proxies have to look at it.
func (c *catalog) set(r Resource, now time.Time) (key, bool) {
	k := mustKind(r.Type)
	s := c.groups[r.Group]
	if s == nil {
		s = new(shelf)
		c.groups[r.Group] = s
	}
	if s[k] == nil {
		s[k] = map[string]*item{}
	}
	it := newItem(k, r, c.seq, now)
	if old := s[k][r.Name.Name]; old != nil && old.Version == it.Version {
		it.seq, it.at = old.seq, old.at
		if old.SlowToWarm == it.SlowToWarm && slices.Equal(old.uses, it.uses) && slices.Equal(old.Origins, it.Origins) {
			return old.key, false
		}
	}
	s[k][r.Name.Name] = it
	return it.key, true
}

func (c *catalog) remove(sc Scoped) (key, bool) {
	k := key{mustKind(sc.Type), sc.Name.Name}
	if c.get(sc.Group, k) == nil {
		return k, false
	}
	s := c.groups[sc.Group]
	delete(s[k.kind], k.name)
	if s.empty() {
		delete(c.groups, sc.Group)
	}
	return k, true
}

func (s *shelf) empty() bool {
	return !slices.ContainsFunc(s[:], func(m map[string]*item) bool { return len(m) > 0 })
}

// count returns how many resources of a kind a group has of its own.
func (c *catalog) count(group string, k kind) int {
	if s := c.groups[group]; s != nil {
		return len(s[k])
	}
	return 0
}

func mustKind(t Type) kind {
	k, ok := kindOf(t)
	if !ok {
		panic(fmt.Sprintf("xdsserve: type %q is not served; use one of the constants of Type", t))
	}
	return k
}
