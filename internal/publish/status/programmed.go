package status

import (
	"fmt"
	"slices"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// Programmed is what the proxies say of one listener.
type Programmed struct {
	// Done tells that every proxy acknowledged the listener, that none of its
	// listeners is warming, and that a connection to its address succeeded.
	Done bool
	// Reason and Message explain why it is not done.
	Reason  gateway_v1.ListenerConditionReason
	Message string
}

// Facts are what only proxies can tell of one Gateway.
type Facts struct {
	// Listeners are by ListenerStatus.Resource.
	Listeners map[string]Programmed
	// Addresses are the bound addresses, sorted.
	Addresses []string
}

// Complete returns the status of a Gateway, or of a ListenerSet of it, with
// Programmed conditions for the object and for each of its listeners. Conditions
// that compile decided win.
func Complete(s verdict.Status, f Facts, generation int64) verdict.Status {
	out := s
	out.Listeners = make([]verdict.ListenerStatus, len(s.Listeners))
	done := 0
	for i, l := range s.Listeners {
		condition := listenerCondition(l, f, generation)
		if condition.Status == meta_v1.ConditionTrue {
			done++
		}
		l.Conditions = with(l.Conditions, condition)
		out.Listeners[i] = l
	}
	out.Conditions = with(s.Conditions, objectCondition(s, done, f, generation))
	return out
}

func listenerCondition(l verdict.ListenerStatus, f Facts, generation int64) meta_v1.Condition {
	c := meta_v1.Condition{
		Type: string(gateway_v1.ListenerConditionProgrammed), Status: meta_v1.ConditionFalse, ObservedGeneration: generation,
	}
	p, known := f.Listeners[l.Resource]
	switch {
	case l.Resource == "":
		c.Reason, c.Message = string(gateway_v1.ListenerReasonInvalid), "the listener is not valid; see its other conditions"
	case !known:
		c.Reason, c.Message = string(gateway_v1.ListenerReasonPending), "no proxy has acknowledged the listener yet"
	case !p.Done:
		c.Reason, c.Message = string(p.Reason), p.Message
	default:
		c.Status, c.Reason = meta_v1.ConditionTrue, string(gateway_v1.ListenerReasonProgrammed)
		c.Message = "acknowledged by every proxy and reachable"
	}
	return c
}

// objectCondition is Programmed once at least one listener serves, be it one of a
// ListenerSet that attaches to the Gateway; listeners that do not are told by their
// own conditions.
func objectCondition(s verdict.Status, done int, f Facts, generation int64) meta_v1.Condition {
	c := meta_v1.Condition{
		Type: string(gateway_v1.GatewayConditionProgrammed), Status: meta_v1.ConditionFalse, ObservedGeneration: generation,
	}
	valid := 0
	for _, l := range s.Listeners {
		if l.Resource != "" {
			valid++
		}
	}
	switch {
	case valid == 0 && slices.ContainsFunc(s.SetResources, func(key string) bool { return f.Listeners[key].Done }):
		c.Status, c.Reason = meta_v1.ConditionTrue, string(gateway_v1.GatewayReasonProgrammed)
		c.Message = "no listener of its own is valid; listeners of ListenerSets are programmed"
	case valid == 0 && len(s.SetResources) > 0:
		c.Reason, c.Message = string(gateway_v1.GatewayReasonPending), "no listener of its own is valid, and none of ListenerSets is programmed yet"
	case valid == 0:
		c.Reason, c.Message = string(gateway_v1.GatewayReasonInvalid), "no listener is valid; see the listeners' conditions"
	case done == 0:
		c.Reason = string(gateway_v1.GatewayReasonPending)
		c.Message = fmt.Sprintf("none of %d valid listeners is programmed yet", valid)
	default:
		c.Status, c.Reason = meta_v1.ConditionTrue, string(gateway_v1.GatewayReasonProgrammed)
		c.Message = fmt.Sprintf("%d of %d listeners programmed", done, len(s.Listeners))
	}
	return c
}

// with returns the conditions plus c, unless its type is already there.
func with(conditions []meta_v1.Condition, c meta_v1.Condition) []meta_v1.Condition {
	for _, have := range conditions {
		if have.Type == c.Type {
			return conditions
		}
	}
	return append(append([]meta_v1.Condition{}, conditions...), c)
}
