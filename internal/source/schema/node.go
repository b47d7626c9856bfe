package schema

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// shape is the kind of a parsed value.
type shape int

const (
	isNull shape = iota
	isBool
	isInt
	isFloat
	isText
	isList
	isMap
)

func (s shape) String() string {
	return [...]string{"null", "boolean", "integer", "number", "string", "list", "mapping"}[s]
}

// withArticle returns the shape as a message names it, for example "an integer".
func (s shape) withArticle() string {
	if s == isInt {
		return "an " + s.String()
	}
	if s == isNull {
		return s.String()
	}
	return "a " + s.String()
}

// node is one value of a document, with the line of the file that it stands on.
// YAML and JSON both become nodes; aliases and merges are expanded.
type node struct {
	shape  shape
	line   int
	scalar any    // bool, int64, float64 or string
	raw    string // how it is written, where that is not what it means
	items  []*node
	fields []member
}

// member is one key of a mapping with its value.
type member struct {
	key  string
	line int
	node *node
}

// get returns the value of a key, or nil.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for i := range n.fields {
		if n.fields[i].key == key {
			return n.fields[i].node
		}
	}
	return nil
}

// text returns the string at a path of keys, or "" if there is none.
func (n *node) text(keys ...string) string {
	for _, k := range keys {
		n = n.get(k)
	}
	if n == nil || n.shape != isText {
		return ""
	}
	return n.scalar.(string)
}

// plain returns the value as encoding/json would, but with int64 for integers.
func (n *node) plain() any {
	switch {
	case n.shape == isList:
		out := make([]any, len(n.items))
		for i, item := range n.items {
			out[i] = item.plain()
		}
		return out
	case n.shape == isMap:
		out := make(map[string]any, len(n.fields))
		for _, f := range n.fields {
			out[f.key] = f.node.plain()
		}
		return out
	}
	return n.scalar
}

// find returns the value of the field at path with the line of its key, or nil
// with the line of the nearest parent that is in the document. A path is written
// like "spec.rules[0].name"; keys may contain dots, and may stand in brackets.
func (n *node) find(path string) (*node, int) {
	line := n.line
	for path != "" {
		next, at, rest := n.step(path)
		if next == nil {
			return nil, line
		}
		n, line, path = next, at, rest
	}
	return n, line
}

// lineOf returns the line of the field at path, or of its nearest parent.
func (n *node) lineOf(path string) int {
	_, line := n.find(path)
	return line
}

// lineWith returns the line on which a mapping has a key or a scalar, or 0.
func (n *node) lineWith(value any) int {
	for _, f := range n.fields {
		if f.key == value || f.node.shape < isList && f.node.scalar == value {
			return f.line
		}
	}
	return 0
}

// written returns a scalar as the document writes it, cut to a readable length,
// or "" for anything else.
func (n *node) written() string {
	if n.raw != "" {
		return n.raw
	}
	return show(n.scalar)
}

// step follows the first element of a path.
func (n *node) step(path string) (next *node, line int, rest string) {
	if n.shape == isList {
		return n.stepIndex(path)
	}
	var best *member
	for i := range n.fields {
		f := &n.fields[i]
		if best != nil && len(best.key) >= len(f.key) {
			continue
		}
		if r, ok := cutKey(path, f.key); ok {
			best, rest = f, r
		}
	}
	if best == nil {
		return nil, 0, ""
	}
	return best.node, best.line, rest
}

func (n *node) stepIndex(path string) (*node, int, string) {
	inner, rest, ok := strings.Cut(strings.TrimPrefix(path, "["), "]")
	i, err := strconv.Atoi(inner)
	if !ok || err != nil || i < 0 || i >= len(n.items) {
		return nil, 0, ""
	}
	return n.items[i], n.items[i].line, strings.TrimPrefix(rest, ".")
}

// cutKey removes a key from the start of a path, if it is there as a whole.
func cutKey(path, key string) (rest string, ok bool) {
	if rest, ok = strings.CutPrefix(path, "["+key+"]"); ok {
		return strings.TrimPrefix(rest, "."), true
	}
	rest, ok = strings.CutPrefix(path, key)
	switch {
	case !ok:
		return "", false
	case rest == "" || rest[0] == '[':
		return rest, true
	}
	return strings.CutPrefix(rest, ".")
}

// inputError is a document that cannot become nodes.
type inputError struct {
	problem Problem
}

func (e *inputError) Error() string { return e.problem.Message }

// under prefixes the field of an inputError with the parent's key or index.
func under(err error, parent string) error {
	if e, ok := errors.AsType[*inputError](err); ok {
		e.problem.Field = join(parent, e.problem.Field)
	}
	return err
}

// join puts a child's path under its parent's.
func join(parent, child string) string {
	if parent == "" || child == "" || child[0] == '[' {
		return parent + child
	}
	return parent + "." + child
}

func index(i int) string { return fmt.Sprintf("[%d]", i) }
