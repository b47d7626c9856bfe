package prover

import (
	"cmp"
	"slices"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// maxPortions bounds how many updates a repeated trial has.
const maxPortions = 256

// made is the order in which resources are made.
var made = []xdsserve.Type{xdsserve.Secret, xdsserve.Cluster, xdsserve.Routes, xdsserve.Scopes, xdsserve.Listener}

// portions cuts an update into small ones. What goes goes first, as a listener may take
// the address of another.
func portions(u xdsserve.Update) []xdsserve.Update {
	var out []xdsserve.Update
	if len(u.Remove) > 0 {
		out = append(out, xdsserve.Update{Remove: u.Remove})
	}
	sorted := slices.SortedFunc(slices.Values(u.Set), func(a, b xdsserve.Resource) int {
		return cmp.Or(cmp.Compare(slices.Index(made, a.Type), slices.Index(made, b.Type)), cmp.Compare(a.Name.Name, b.Name.Name))
	})
	for portion := range slices.Chunk(sorted, 1+len(sorted)/maxPortions) {
		out = append(out, xdsserve.Update{Set: portion})
	}
	return out
}
