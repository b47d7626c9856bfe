package verdict

import (
	"slices"
	"strings"
)

// All are all reasons in order of name. It must not be changed.
var All = sorted(slices.Concat(stageReasons, gatewayReasons, routeReasons, objectReasons, FleetReasons, []Reason{Unexplained}))

// ReasonNamed returns the reason with this name.
func ReasonNamed(name string) (Reason, bool) {
	i, ok := slices.BinarySearchFunc(All, name, func(r Reason, name string) int { return strings.Compare(r.Name, name) })
	if !ok {
		return Reason{}, false
	}
	return All[i], true
}

func sorted(reasons []Reason) []Reason {
	slices.SortFunc(reasons, func(a, b Reason) int { return strings.Compare(a.Name, b.Name) })
	return reasons
}
