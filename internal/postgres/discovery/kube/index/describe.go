package index

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Description is all that is known of one form of a deployment.
type Description struct {
	// Service is the "namespace/name" that serves it, and Losers those that claim it too.
	Service string
	Losers  []string
	// ByName is host:port where no slice lists endpoints; else empty.
	ByName    string
	Endpoints []Endpoint // by address
	Problems  []Problem  // of all these Services
}

// Endpoint is one that a slice lists.
type Endpoint struct {
	Address string
	// Ready tells that new sessions may go there.
	Ready bool
}

// Describe returns what is known of a form; false if no Service claims it.
func (x *Index) Describe(deployment string, pooled bool) (Description, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	c, ok := x.contests[form{deployment, pooled}]
	if !ok {
		return Description{}, false
	}
	w := c.winner()
	out := Description{Service: w.name.String()}
	if len(w.slices) == 0 && !w.claim.refused {
		out.ByName = w.dial.byName
	}
	for _, e := range w.listed {
		if w.claim.refused {
			break // these are of an earlier claim
		}
		out.Endpoints = append(out.Endpoints, Endpoint{Address: e.address, Ready: e.ready > 0})
	}
	slices.SortFunc(out.Endpoints, func(a, b Endpoint) int { return strings.Compare(a.Address, b.Address) })
	for _, s := range c.claimants {
		if s != w {
			out.Losers = append(out.Losers, s.name.String())
		}
		out.Problems = append(out.Problems, x.problems(s)...)
	}
	return out, true
}

// Claimants are the Services that claim a form; the first serves it.
func (x *Index) Claimants(deployment string, pooled bool) []types.NamespacedName {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var out []types.NamespacedName
	if c, ok := x.contests[form{deployment, pooled}]; ok {
		for _, s := range c.claimants {
			out = append(out, s.name)
		}
	}
	return out
}
