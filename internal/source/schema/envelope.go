package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/pkg/spelling"
)

// checkEnvelope looks for what every Kubernetes object has.
func checkEnvelope(root *node) *Problem {
	if root.shape != isMap {
		return &Problem{Reason: NotAnObject, Line: root.line, Message: fmt.Sprintf(
			"%s is no Kubernetes object; start the document with apiVersion, kind and metadata", root.shape.withArticle())}
	}
	for _, key := range []string{"apiVersion", "kind"} {
		switch n := root.get(key); {
		case n == nil:
			return &Problem{Reason: NotAnObject, Field: key, Line: root.line, Message: missingTop(root, key)}
		case n.shape != isText || n.scalar == "":
			return &Problem{Reason: NotAnObject, Field: key, Line: n.line, Message: fmt.Sprintf("%s is no %s; write a name", n.shape.withArticle(), key)}
		}
	}
	return nil
}

func missingTop(root *node, key string) string {
	names := make([]string, 0, len(root.fields))
	for _, f := range root.fields {
		names = append(names, f.key)
	}
	if near, ok := spelling.Closest(key, names); ok {
		return fmt.Sprintf("required field is missing; rename %q to it", near)
	}
	return "required field is missing; add it, or move the file out of the directory if it is no Kubernetes object"
}

// unserved says why a kind is not read, and what was probably meant.
func (s kindSet) unserved(group, name string) string {
	names := make([]string, 0, len(s))
	for _, k := range s {
		if k.Name == name {
			return fmt.Sprintf("%q: not read in group %q; write apiVersion %s", name, group, versions(k))
		}
		names = append(names, k.Name)
	}
	if near, ok := spelling.Closest(name, names); ok {
		k := s[slices.Index(names, near)]
		return fmt.Sprintf("%q: no kind of that name is read; did you mean %s of %s?", name, near, versions(k))
	}
	return fmt.Sprintf("%q: Gatehouse does not read this kind; remove the document, nothing that is served depends on it", name)
}

// versions lists a kind's apiVersions, preferred first.
func versions(k snapshot.Kind) string {
	out := make([]string, len(k.Versions))
	for i, v := range k.Versions {
		out[i] = apiVersion(k, v)
	}
	return strings.Join(out, ", ")
}

func apiVersion(k snapshot.Kind, version string) string {
	if k.Group == "" {
		return version
	}
	return k.Group + "/" + version
}

func has(list []string, s string) bool { return slices.Contains(list, s) }
