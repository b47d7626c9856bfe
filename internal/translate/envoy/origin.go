package envoy

import (
	"slices"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// Origin encodes a reference as the opaque origin of a resource: "Kind
// namespace/name". ParseOrigin is its inverse.
func Origin(r model.Ref) string { return r.Collection + " " + r.Name }

// ParseOrigin returns the reference that Origin encoded, and false for a string
// that it cannot have made.
func ParseOrigin(s string) (model.Ref, bool) {
	kind, name, ok := strings.Cut(s, " ")
	return model.Ref{Collection: kind, Name: name}, ok && kind != "" && name != ""
}

// origins are the encoded references, sorted and unique.
func origins(refs []model.Ref) []string {
	encoded := make([]string, len(refs))
	for i, r := range refs {
		encoded[i] = Origin(r)
	}
	return sortedUnique(encoded)
}

func sortedUnique(s []string) []string {
	slices.Sort(s)
	return slices.Clip(slices.Compact(s))
}
