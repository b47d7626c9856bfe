package status

import (
	"reflect"
	"slices"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

const (
	typeAccepted         = string(gateway_v1.RouteConditionAccepted)
	typePartiallyInvalid = string(gateway_v1.RouteConditionPartiallyInvalid)
)

// Refused returns the status of a revision that is not accepted: Accepted is False
// wherever it was True, for the cause given, and everywhere says what stays in force.
func Refused(s verdict.Status, cause, serves string) verdict.Status {
	out := s
	out.Conditions = refused(s.Conditions, string(gateway_v1.GatewayReasonInvalid), cause, serves)
	out.Ancestors = make([]verdict.AncestorStatus, len(s.Ancestors))
	for i, a := range s.Ancestors {
		a.Conditions = refused(a.Conditions, string(gateway_v1.PolicyReasonInvalid), cause, serves)
		out.Ancestors[i] = a
	}
	out.Parents = make([]verdict.ParentStatus, len(s.Parents))
	for i, p := range s.Parents {
		p.Conditions = refused(p.Conditions, string(gateway_v1.RouteReasonUnsupportedValue), cause, serves)
		out.Parents[i] = p
	}
	return out
}

// refused leaves out that the rest would be implemented: what is not accepted is not
// partially invalid.
func refused(conditions []meta_v1.Condition, reason, cause, serves string) []meta_v1.Condition {
	out := make([]meta_v1.Condition, 0, len(conditions))
	for _, c := range conditions {
		switch {
		case c.Type == typePartiallyInvalid:
			continue
		case c.Type == typeAccepted && c.Status == meta_v1.ConditionTrue:
			c.Status, c.Reason, c.Message = meta_v1.ConditionFalse, reason, cause+"; "+serves
		case c.Type == typeAccepted:
			c.Message += "; " + serves
		}
		out = append(out, c)
	}
	return out
}

// Fallback is why a route stays at an earlier revision: some of the rules of the new one
// are invalid, and others are not.
type Fallback struct {
	// Generation is that of the new revision.
	Generation int64
	// Cause is what is invalid, Serves what stays in force.
	Cause, Serves string
}

// FellBack returns the status of a route that stays at an accepted revision, at the
// parents of the refused one. Where the accepted revision is attached its conditions
// count, with its generation, and PartiallyInvalid tells of the new one; elsewhere the
// new revision is not accepted.
func FellBack(refusal, accepted verdict.Status, f Fallback) verdict.Status {
	out := Refused(refusal, f.Cause, f.Serves+", not here")
	for i, p := range out.Parents {
		at := slices.IndexFunc(accepted.Parents, func(a verdict.ParentStatus) bool { return reflect.DeepEqual(a.Ref, p.Ref) })
		if at < 0 || !isAccepted(accepted.Parents[at].Conditions) {
			continue
		}
		out.Parents[i].Conditions = append(without(accepted.Parents[at].Conditions, typePartiallyInvalid), meta_v1.Condition{
			Type: typePartiallyInvalid, Status: meta_v1.ConditionTrue, ObservedGeneration: f.Generation,
			Reason: string(gateway_v1.RouteReasonUnsupportedValue), Message: "Fall Back: " + f.Serves + ", for " + f.Cause,
		})
	}
	return out
}

func isAccepted(conditions []meta_v1.Condition) bool {
	return slices.ContainsFunc(conditions, func(c meta_v1.Condition) bool {
		return c.Type == typeAccepted && c.Status == meta_v1.ConditionTrue
	})
}

func without(conditions []meta_v1.Condition, typ string) []meta_v1.Condition {
	return slices.DeleteFunc(slices.Clone(conditions), func(c meta_v1.Condition) bool { return c.Type == typ })
}
