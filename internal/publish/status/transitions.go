package status

import (
	"encoding/json"
	"sync"
	"time"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// Transitions remembers when each condition of each object last changed its
// status. It is safe for concurrent use.
type Transitions struct {
	mu      sync.Mutex
	objects map[verdict.Ref]map[condition]transition
}

type condition struct{ part, kind string }

type transition struct {
	status meta_v1.ConditionStatus
	at     meta_v1.Time
}

// NewTransitions returns an empty memory.
func NewTransitions() *Transitions {
	return &Transitions{objects: map[verdict.Ref]map[condition]transition{}}
}

// Stamp returns s with lastTransitionTime set: now for a condition whose status
// differs from the last time, the remembered time for the others. Parents are told
// apart by their references, whatever their order.
func (t *Transitions) Stamp(ref verdict.Ref, s verdict.Status, now time.Time) verdict.Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.objects[ref]
	after := map[condition]transition{}
	at := meta_v1.NewTime(now.Truncate(time.Second))
	stamp := func(part string, conditions []meta_v1.Condition) []meta_v1.Condition {
		out := make([]meta_v1.Condition, len(conditions))
		for i, c := range conditions {
			id := condition{part, c.Type}
			last, known := before[id]
			if !known || last.status != c.Status {
				last = transition{c.Status, at}
			}
			after[id] = last
			c.LastTransitionTime = last.at
			out[i] = c
		}
		return out
	}
	out := stampParts(s, stamp)
	t.objects[ref] = after
	return out
}

// Forget drops a deleted object.
func (t *Transitions) Forget(ref verdict.Ref) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.objects, ref)
}

func stampParts(s verdict.Status, stamp func(string, []meta_v1.Condition) []meta_v1.Condition) verdict.Status {
	out := s
	out.Conditions = stamp("", s.Conditions)
	out.Listeners = make([]verdict.ListenerStatus, len(s.Listeners))
	for i, l := range s.Listeners {
		l.Conditions = stamp("listener "+l.Name, l.Conditions)
		out.Listeners[i] = l
	}
	out.Ancestors = make([]verdict.AncestorStatus, len(s.Ancestors))
	for i, a := range s.Ancestors {
		a.Conditions = stamp("ancestor "+a.Gateway, a.Conditions)
		out.Ancestors[i] = a
	}
	out.Parents = make([]verdict.ParentStatus, len(s.Parents))
	for i, p := range s.Parents {
		p.Conditions = stamp("parent "+nameOf(p.Ref), p.Conditions)
		out.Parents[i] = p
	}
	return out
}

// nameOf tells the parents of a route apart.
func nameOf(ref gateway_v1.ParentReference) string {
	name, _ := json.Marshal(ref)
	return string(name)
}
