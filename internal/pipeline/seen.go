package pipeline

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/pkg/spelling"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// unknownKind says which kinds could have been asked for.
func (r *Reporter) unknownKind(kind, name string) *admin.NeverSeen {
	all := make([]string, 0, len(snapshot.Kinds))
	for _, k := range snapshot.Kinds {
		all = append(all, k.Name)
	}
	return &admin.NeverSeen{
		Kind: kind, Name: name,
		Reasons: []string{fmt.Sprintf("kind %s is not served; the kinds are %s", kind, strings.Join(all, ", "))},
		Closest: []string{},
	}
}

// neverSeen says what would have to be true for an object to be seen.
func (r *Reporter) neverSeen(at *published, kind snapshot.Kind, name string) *admin.NeverSeen {
	out := &admin.NeverSeen{Kind: kind.Name, Name: name, Closest: []string{}}
	out.Reasons = append(out.Reasons, fmt.Sprintf("kind %s is watched (%s, from %d files)",
		kind.Name, strings.Join(kind.Versions, ", "), r.board.fileCount()))
	if !kind.ClusterScoped && !strings.Contains(name, "/") {
		out.Reasons = append(out.Reasons, fmt.Sprintf("kind %s has namespaces: ask for NAMESPACE/%s", kind.Name, name))
	}
	if kind.ClusterScoped && strings.Contains(name, "/") {
		out.Reasons = append(out.Reasons, fmt.Sprintf("kind %s has no namespaces: ask for the name alone", kind.Name))
	}
	if n := at.observed.Len(kind.Name); n == 0 {
		out.Reasons = append(out.Reasons, fmt.Sprintf("no %s was found in any file", kind.Name))
	}
	out.Closest = closest(name, func(yield func(string) bool) {
		for have := range at.observed.Prefix(kind.Name, "") {
			if !yield(have) {
				return
			}
		}
	})
	return out
}

// closest returns up to three names that are near enough to be a typing error.
func closest(name string, names iter.Seq[string]) []string {
	return spelling.Nearest(name, names, 3, func(candidate string, distance int) bool {
		_, bare := snapshot.SplitName(candidate)
		return bare == name || distance <= 1+len(name)/4
	})
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// sortedOf returns the keys of one kind, or with kind "" all, in order.
func sortedOf(seen map[store.Key]bool, kind string) []store.Key {
	if k, ok := snapshot.KindOf(kind); ok {
		kind = k.Name
	}
	keys := slices.SortedFunc(maps.Keys(seen), store.Key.Compare)
	return slices.DeleteFunc(keys, func(k store.Key) bool { return kind != "" && k.Collection != kind })
}
