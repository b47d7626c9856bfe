package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	structural_schema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/gatehouse-proxy/gatehouse/pkg/spelling"
)

// unknownField is the refusal of a field that the kind does not have.
func unknownField(root *node, path string, known []string) Problem {
	name := path[strings.LastIndexByte(path, '.')+1:]
	message := "unknown field; remove it or correct its indentation"
	if near, ok := spelling.Closest(name, known); ok {
		message = fmt.Sprintf("unknown field; did you mean %q?", near)
	} else if len(known) > 0 && len(known) <= 12 {
		message += "; known here: " + strings.Join(known, ", ")
	}
	return Problem{Reason: UnknownField, Field: path, Line: root.lineOf(path), Message: message}
}

// replaceRemedy ends the message of a forbidden change with what to do.
func replaceRemedy(message string) string {
	return strings.TrimSuffix(message, "; change the value") +
		"; undo the change, or replace the object: delete it from the file, wait until it is gone, add it again (or give it another name)"
}

// siblings returns the names of the fields that may stand where path does.
func siblings(s *structural_schema.Structural, path string) []string {
	parent := path[:max(strings.LastIndexByte(path, '.'), 0)]
	for _, step := range strings.FieldsFunc(parent, func(r rune) bool { return r == '.' || r == '[' }) {
		if s = child(s, step); s == nil {
			return nil
		}
	}
	return slices.Sorted(maps.Keys(s.Properties))
}

// child follows one step of a path: a field's name, or "0]" for an item.
func child(s *structural_schema.Structural, step string) *structural_schema.Structural {
	if strings.HasSuffix(step, "]") {
		return s.Items
	}
	if p, ok := s.Properties[step]; ok {
		return &p
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Structural
	}
	return nil
}
