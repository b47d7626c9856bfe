package compile

import (
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"
)

type condition = meta_v1.Condition

const conditionFalse = meta_v1.ConditionFalse

// conditions collects the conditions of one object, or one part of it, at one generation.
type conditions struct {
	generation int64
	list       []condition
}

func (c *conditions) set(kind string, status meta_v1.ConditionStatus, reason, message string) {
	c.list = append(c.list, condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: c.generation,
	})
}

// yes sets a condition that holds.
func (c *conditions) yes(kind, reason, message string) {
	c.set(kind, meta_v1.ConditionTrue, reason, message)
}

// no sets a condition that does not hold because of a problem.
func (c *conditions) no(kind string, why *problem) {
	c.set(kind, meta_v1.ConditionFalse, why.Reason.Name, why.sentence())
}

// judge sets a condition that holds unless there is a problem; what is said when
// it holds doubles as its reason.
func (c *conditions) judge(kind, reason, message string, why *problem) {
	if why != nil {
		c.no(kind, why)
		return
	}
	c.yes(kind, reason, message)
}

// Types of conditions, as text. They are the same for Gateways, listeners and routes.
const (
	typeAccepted         = string(gateway_v1.GatewayConditionAccepted)
	typeProgrammed       = string(gateway_v1.GatewayConditionProgrammed)
	typeResolvedRefs     = string(gateway_v1.ListenerConditionResolvedRefs)
	typeConflicted       = string(gateway_v1.ListenerConditionConflicted)
	typeOverlapping      = string(gateway_v1.ListenerConditionOverlappingTLSConfig)
	typePartiallyInvalid = string(gateway_v1.RouteConditionPartiallyInvalid)
)
