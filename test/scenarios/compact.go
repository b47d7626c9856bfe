package scenarios

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// lineWidth is what a part of a document may take to be written in one line.
const lineWidth = 170

// edit changes a tree of mappings and sequences.
type edit func(n *yaml.Node)

// writeYAML writes JSON as a YAML document in the order of its fields, small
// parts of it in one line. Nothing is written of a document that is empty.
func writeYAML(b *bytes.Buffer, title string, text []byte, edits ...edit) error {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return fmt.Errorf("%s: %w", title, err)
	}
	if len(document.Content) == 0 {
		return nil
	}
	root := document.Content[0]
	for _, change := range edits {
		change(root)
	}
	if len(root.Content) == 0 {
		return nil
	}
	fold(root)
	root.Style = 0
	fmt.Fprintf(b, "# %s\n", title)
	encoder := yaml.NewEncoder(b)
	encoder.SetIndent(2)
	if err := encoder.Encode(root); err != nil {
		return fmt.Errorf("%s: %w", title, err)
	}
	return nil
}

// fold sets the style of a tree, and returns how long it would be in one line.
func fold(n *yaml.Node) int {
	n.Style = 0
	if n.Kind == yaml.ScalarNode {
		return len(n.Value) + 2
	}
	width := 2
	for _, child := range n.Content {
		width += fold(child) + 2
	}
	if width <= lineWidth {
		n.Style = yaml.FlowStyle
	}
	return width
}

// fields calls do with each field of each mapping of a tree, inner ones first,
// and removes those for which it returns false.
func fields(n *yaml.Node, keep func(key string, value *yaml.Node) bool) {
	if n.Kind != yaml.MappingNode {
		for _, child := range n.Content {
			fields(child, keep)
		}
		return
	}
	kept := n.Content[:0]
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		fields(value, keep)
		if keep(key.Value, value) {
			kept = append(kept, key, value)
		}
	}
	n.Content = kept
}

// drop removes fields by name.
func drop(names ...string) edit {
	return func(n *yaml.Node) {
		fields(n, func(key string, _ *yaml.Node) bool {
			return !strings.Contains(" "+strings.Join(names, " ")+" ", " "+key+" ")
		})
	}
}

// dropEmpty removes fields that are not set, which would be most.
func dropEmpty(n *yaml.Node) {
	fields(n, func(_ string, value *yaml.Node) bool {
		switch value.Kind {
		case yaml.ScalarNode:
			return value.Value != "" && value.Tag != "!!null" && (value.Tag == "!!str" || value.Value != "0" && value.Value != "false")
		default:
			return len(value.Content) > 0
		}
	})
}
