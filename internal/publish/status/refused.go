package status

import (
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// Refused returns the status of a revision that is not accepted: Accepted is False
// wherever it was True, for the cause given, and everywhere says what stays in force.
func Refused(s verdict.Status, cause, retained string) verdict.Status {
	out := s
	out.Conditions = refused(s.Conditions, string(gateway_v1.GatewayReasonInvalid), cause, retained)
	out.Ancestors = make([]verdict.AncestorStatus, len(s.Ancestors))
	for i, a := range s.Ancestors {
		a.Conditions = refused(a.Conditions, string(gateway_v1.PolicyReasonInvalid), cause, retained)
		out.Ancestors[i] = a
	}
	out.Parents = make([]verdict.ParentStatus, len(s.Parents))
	for i, p := range s.Parents {
		p.Conditions = refused(p.Conditions, string(gateway_v1.RouteReasonUnsupportedValue), cause, retained)
		out.Parents[i] = p
	}
	return out
}

func refused(conditions []meta_v1.Condition, reason, cause, retained string) []meta_v1.Condition {
	out := make([]meta_v1.Condition, len(conditions))
	for i, c := range conditions {
		if c.Type == string(gateway_v1.RouteConditionAccepted) {
			if c.Status == meta_v1.ConditionTrue {
				c.Status, c.Reason, c.Message = meta_v1.ConditionFalse, reason, cause
			}
			c.Message += "; " + retained
		}
		out[i] = c
	}
	return out
}
