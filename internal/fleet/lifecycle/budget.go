package lifecycle

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
)

// Budget is how many Proxies of a fleet may be without a running instance at once
// because of replacements: a number, or a percentage, rounded down, of the managed ones.
// The zero Budget is 10%. It is never less than one, or nothing would ever be replaced.
type Budget struct {
	Number  int // used if above 0
	Percent int
}

// ParseBudget reads "3" or "25%".
func ParseBudget(text string) (Budget, error) {
	digits, percent := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(digits)
	switch {
	case err != nil || n < 1 || percent && n > 100:
		return Budget{}, fmt.Errorf("%q: give a number from 1, or a percentage from 1%% to 100%%", text)
	case percent:
		return Budget{Percent: n}, nil
	}
	return Budget{Number: n}, nil
}

// String returns what [ParseBudget] reads.
func (b Budget) String() string {
	switch {
	case b.Number > 0:
		return strconv.Itoa(b.Number)
	case b.Percent > 0:
		return strconv.Itoa(b.Percent) + "%"
	}
	return "10%"
}

// of returns the number for a fleet of that many.
func (b Budget) of(fleet int) int {
	switch {
	case b.Number > 0:
		return b.Number
	case b.Percent > 0:
		return max(1, fleet*b.Percent/100)
	}
	return max(1, fleet/10)
}

// Grants says whether the running instance of p may be let go, given all Proxies and
// those that were just let go and may still look as before.
//
// Whatever else does not run counts, for whatever reason: a change that breaks what it
// touches stops itself. What probes call unhealthy counts against healthy ones only:
// else a fleet that a change has broken could not be mended by the next.
func (b Budget) Grants(p *egress_v1alpha1.Proxy, all []*egress_v1alpha1.Proxy, released map[types.NamespacedName]bool) bool {
	sick := ComputePhase(p) == egress_v1alpha1.PhaseUnhealthy
	fleet, down := 0, 0
	for _, other := range all {
		if other.Spec.Mode == egress_v1alpha1.External || other.DeletionTimestamp != nil {
			continue
		}
		fleet++
		key := types.NamespacedName{Namespace: other.Namespace, Name: other.Name}
		if other.UID != p.UID && (released[key] || !Serves(other) || !sick && ComputePhase(other) == egress_v1alpha1.PhaseUnhealthy) {
			down++
		}
	}
	return down < b.of(fleet)
}
