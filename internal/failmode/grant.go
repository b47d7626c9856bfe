package failmode

import (
	"slices"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"
)

// meetGrants is a ReferenceGrant of what both revisions permit: references from
// what both name to what both name; nil where there is none.
func meetGrants(accepted *gateway_v1.ReferenceGrant, observed any) any {
	o, ok := observed.(*gateway_v1.ReferenceGrant)
	if !ok {
		return nil
	}
	var from []gateway_v1.ReferenceGrantFrom
	for _, f := range accepted.Spec.From {
		if slices.Contains(o.Spec.From, f) {
			from = append(from, f)
		}
	}
	to, fewer := meetTargets(accepted.Spec.To, o.Spec.To)
	switch {
	case len(from) == len(accepted.Spec.From) && !fewer:
		return accepted
	case len(from) == 0 || len(to) == 0:
		return nil
	}
	out := accepted.DeepCopy()
	out.Spec.From, out.Spec.To = from, to
	return out
}

// meetTargets are what both permit references to, and whether that is less than before.
func meetTargets(before, now []gateway_v1.ReferenceGrantTo) (met []gateway_v1.ReferenceGrantTo, fewer bool) {
	for _, t := range before {
		if slices.ContainsFunc(now, func(n gateway_v1.ReferenceGrantTo) bool { return covers(n, t) }) {
			met = append(met, t)
			continue
		}
		fewer = true
		for _, n := range now {
			if t.Name == nil && n.Name != nil && t.Group == n.Group && t.Kind == n.Kind {
				met = append(met, n)
			}
		}
	}
	return met, fewer
}

// covers reports whether one target is all that another is.
func covers(n, t gateway_v1.ReferenceGrantTo) bool {
	return n.Group == t.Group && n.Kind == t.Kind && (n.Name == nil || t.Name != nil && *n.Name == *t.Name)
}
