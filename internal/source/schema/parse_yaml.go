package schema

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// yamlReader turns the YAML library's tree into nodes: it expands aliases and
// merges within a budget and refuses duplicate keys.
type yamlReader struct {
	budget budget
	offset int // what to add to the library's lines
}

// parseYAML returns an *inputError.
func parseYAML(doc Document) (*node, error) {
	var root yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(doc.Text))
	if err := dec.Decode(&root); err != nil {
		return nil, yamlSyntax(doc, err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, refuse(InvalidSyntax, doc.Line, "text after the end of the document; separate documents by a line ---")
	}
	r := &yamlReader{budget: budget{MaxNodes}, offset: doc.start - 1}
	if len(root.Content) != 1 {
		return nil, refuse(InvalidSyntax, doc.Line, "no content; remove the document")
	}
	return r.value(root.Content[0], 0)
}

func (r *yamlReader) value(y *yaml.Node, depth int) (*node, error) {
	line := y.Line + r.offset
	if err := r.budget.take(line, depth); err != nil {
		return nil, err
	}
	switch {
	case y.Kind == yaml.AliasNode:
		return r.value(y.Alias, depth+1)
	case y.Kind == yaml.SequenceNode:
		return r.list(y, line, depth)
	case y.Kind == yaml.MappingNode:
		return r.mapping(y, line, depth)
	}
	return scalar(y, line)
}

func (r *yamlReader) list(y *yaml.Node, line, depth int) (*node, error) {
	n := &node{shape: isList, line: line, items: make([]*node, 0, len(y.Content))}
	for i, item := range y.Content {
		v, err := r.value(item, depth+1)
		if err != nil {
			return nil, under(err, index(i))
		}
		n.items = append(n.items, v)
	}
	return n, nil
}

func (r *yamlReader) mapping(y *yaml.Node, line, depth int) (*node, error) {
	n := &node{shape: isMap, line: line, fields: make([]member, 0, len(y.Content)/2)}
	seen := make(map[string]int, len(y.Content)/2)
	var merges []*yaml.Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		k, v := y.Content[i], y.Content[i+1]
		if k.ShortTag() == "!!merge" {
			merges = append(merges, v)
			continue
		}
		key, err := keyText(k, k.Line+r.offset)
		if err != nil {
			return nil, err
		}
		if first, dup := seen[key]; dup {
			return nil, duplicateKey(key, k.Line+r.offset, first)
		}
		seen[key] = k.Line + r.offset
		value, err := r.value(v, depth+1)
		if err != nil {
			return nil, under(err, key)
		}
		n.fields = append(n.fields, member{key, k.Line + r.offset, value})
	}
	return n, r.merge(n, merges, depth)
}

// merge adds the keys of "<<" mappings that the mapping does not have itself.
func (r *yamlReader) merge(n *node, from []*yaml.Node, depth int) error {
	for _, y := range from {
		v, err := r.value(y, depth+1)
		if err != nil {
			return under(err, "<<")
		}
		sources := v.items
		if v.shape == isMap {
			sources = []*node{v}
		} else if v.shape != isList {
			return refuse(InvalidSyntax, v.line, "<<: merges %s; only mappings can be merged", v.shape.withArticle())
		}
		for _, s := range sources {
			if s.shape != isMap {
				return refuse(InvalidSyntax, s.line, "<<: merges %s; only mappings can be merged", s.shape.withArticle())
			}
			for _, f := range s.fields {
				if n.get(f.key) == nil {
					n.fields = append(n.fields, f)
				}
			}
		}
	}
	return nil
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// yamlSyntax turns the library's error into a refusal with the line of the file.
func yamlSyntax(doc Document, err error) error {
	m := yamlLine.FindStringSubmatch(err.Error())
	if m == nil {
		return refuse(InvalidSyntax, doc.Line, "not YAML: %v; correct the document", err)
	}
	line := faultyLine(doc.Text, err.Error())
	if line == 0 {
		n, _ := strconv.Atoi(m[1])
		line = max(n, 1)
	}
	return refuse(InvalidSyntax, doc.start+line-1, "not YAML: %s; correct this line or the one above", m[2])
}

// maxSearch is the largest text that faultyLine parses again and again.
const maxSearch = 64 << 10

// faultyLine finds the line that a syntax error is on, from 1, or 0. The library
// names the line on which the enclosing mapping starts instead. It reads as a
// stream, so any beginning of the text that holds the faulty line gives the same
// error, and a shorter one gives none or another.
func faultyLine(text []byte, message string) int {
	if len(text) > maxSearch {
		return 0
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	low, high, end := 0, len(lines), len(text) // the error is in lines[low:high]
	for high-low > 1 {
		mid := (low + high) / 2
		size := end - len(bytes.Join(lines[mid:high], nil))
		err := yaml.NewDecoder(bytes.NewReader(text[:size])).Decode(new(yaml.Node))
		if err != nil && err.Error() == message {
			high, end = mid, size
		} else {
			low = mid
		}
	}
	return high
}
