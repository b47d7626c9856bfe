package derive

// Part is a collection that a [Union] shows, and what its keys start with there.
type Part[V any] struct {
	Prefix string
	Of     Collection[V]
}

// Union shows several collections as one: each key with the prefix of its part.
// The prefixes are in order, and none of them begins another, so that no two keys
// are the same. It runs no function, and it keeps what it shows. No part is an
// [Input] or a [Project].
func Union[V any](g *Graph, name string, parts ...Part[V]) Collection[V] {
	var none []Option[V]
	if len(parts) == 0 {
		panic(misuse("%q is a union of nothing", name))
	}
	n := derived(name, unionNode, parts[0].Of.node, none)
	for i, p := range parts {
		switch {
		case p.Of.node == nil || p.Of.node.graph != g:
			panic(misuse("%q has a part of another graph", name))
		case p.Of.node.kind == inputNode || p.Of.node.kind == projectNode:
			panic(misuse("%q has a part that is an input or a projection", name))
		case i > 0 && !apart(parts[i-1].Prefix, p.Prefix):
			panic(misuse("%q has the prefixes %q and %q: they must be in order, and neither may begin the other", name, parts[i-1].Prefix, p.Prefix))
		}
		n.parts = append(n.parts, part{p.Prefix, p.Of.node})
	}
	return Collection[V]{g.add(n)}
}

func apart(a, b string) bool { return a < b && b[:min(len(a), len(b))] != a }

// part is a node that a union shows.
type part struct {
	prefix string
	of     *node
}

// evaluateUnion copies what changed in the parts. Their order is that of the keys.
func (e *evaluation) evaluateUnion(n *node) {
	for _, p := range n.parts {
		for _, c := range e.changes[p.of.id] {
			e.setValue(n, p.prefix+c.key, c.new, c.has)
		}
	}
}

// partOf returns which part of a union has a key, and the key there.
func (n *node) partOf(key string) (of *node, inside string) {
	for _, p := range n.parts {
		if len(key) >= len(p.prefix) && key[:len(p.prefix)] == p.prefix {
			return p.of, key[len(p.prefix):]
		}
	}
	return nil, ""
}
