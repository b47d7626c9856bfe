package gc

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
)

// Victim is an instance that a sweep wants to delete, and why.
type Victim struct {
	Sighting
	Verdict Verdict
	// Proxy names the object whose instance it is a duplicate of.
	Proxy types.NamespacedName
}

// A sweep deletes at most maxKills instances, or a tenth of ours that it sees where that
// is more, so that one mistake does not take a whole fleet.
const (
	maxKills     = 5
	maxKillsPart = 10
)

// Choose returns the instances to delete now, and those that must wait for another
// sweep, in the order in which they are to go: those whose deletion has failed least
// often first, so that one that cannot be deleted holds up no other; then the oldest.
func (r Rules) Choose(seen []Sighting, proxies []*egress_v1alpha1.Proxy, now time.Time) (kill, wait []Victim) {
	owners := byUID(proxies)
	seen = distinct(seen)
	var victims []Victim
	ours := 0
	for _, s := range seen {
		owner := owners[types.UID(s.UID)]
		v := r.Judge(s, owner, now)
		if v != Foreign {
			ours++
		}
		if v.kills() {
			victims = append(victims, Victim{Sighting: s, Verdict: v, Proxy: keyOf(owner)})
		}
	}
	slices.SortFunc(victims, func(a, b Victim) int {
		return cmp.Or(
			cmp.Compare(a.Failures, b.Failures),
			a.CreatedAt.Compare(b.CreatedAt),
			cmp.Compare(a.Provider, b.Provider),
			cmp.Compare(a.ID, b.ID),
		)
	})
	most := min(len(victims), max(maxKills, ours/maxKillsPart))
	return victims[:most], victims[most:]
}

// distinct drops what a provider listed twice.
func distinct(seen []Sighting) []Sighting {
	known := make(map[identity]bool, len(seen))
	return slices.DeleteFunc(slices.Clone(seen), func(s Sighting) bool {
		again := known[s.identity()]
		known[s.identity()] = true
		return again
	})
}

func byUID(proxies []*egress_v1alpha1.Proxy) map[types.UID]*egress_v1alpha1.Proxy {
	owners := make(map[types.UID]*egress_v1alpha1.Proxy, len(proxies))
	for _, p := range proxies {
		owners[p.UID] = p
	}
	return owners
}

func keyOf(p *egress_v1alpha1.Proxy) types.NamespacedName {
	if p == nil {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
}

// identity is what tells instances apart.
type identity struct{ provider, id string }

func (s Sighting) identity() identity { return identity{s.Provider, s.ID} }
