package pipeline

import (
	"encoding/json"

	"github.com/gatehouse-proxy/gatehouse/internal/compile"
	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/publish/status"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// object is an observed object with its status, as JSON.
func (r *Reporter) object(at *published, key store.Key) (json.RawMessage, bool) {
	value, ok := at.observed.Get(key)
	if !ok {
		return nil, false
	}
	complete, _ := r.status(at, key)
	complete = r.transitions.Stamp(key, complete, r.now())
	encoded, err := json.Marshal(status.Object(value, complete, r.board.factsOf(model.GatewayID(key.Name)), r.controller))
	return encoded, err == nil
}

// stamp notes now which conditions of an object have changed, so that their times
// do not depend on when someone asks.
func (r *Reporter) stamp(at *published, key store.Key) {
	if _, observed := at.observed.Get(key); !observed {
		return
	}
	if complete, ok := r.status(at, key); ok {
		r.transitions.Stamp(key, complete, r.now())
	}
}

// stampGateway notes likewise what proxies have changed of a Gateway and of the
// ListenerSets that attach to it.
func (r *Reporter) stampGateway(at *published, gateway model.GatewayID) {
	r.stamp(at, store.Key{Collection: "Gateway", Name: string(gateway)})
	for _, key := range r.setsOf(at, gateway) {
		r.stamp(at, key)
	}
}

// setsOf are the ListenerSets that attach to a Gateway, in order.
func (r *Reporter) setsOf(at *published, gateway model.GatewayID) []store.Key {
	s, _ := r.decided(at, store.Key{Collection: "Gateway", Name: string(gateway)})
	out := make([]store.Key, len(s.Sets))
	for i, name := range s.Sets {
		out[i] = store.Key{Collection: "ListenerSet", Name: name}
	}
	return out
}

// status is what compile decided over the observed revision, with what proxies
// say of it.
func (r *Reporter) status(at *published, key store.Key) (verdict.Status, bool) {
	s, ok := r.decided(at, key)
	switch {
	case !ok:
		return verdict.Status{}, false
	case key.Collection == "Gateway":
		return status.Complete(s, r.board.factsOf(model.GatewayID(key.Name)), r.generation(at, key)), true
	case key.Collection == "ListenerSet":
		return status.Complete(s, r.board.factsOf(model.GatewayID(s.Gateway)), r.generation(at, key)), true
	default:
		return s, true
	}
}

// decided is what compile decided over the observed revision. A rejected revision
// has the status that its trial gave it.
func (r *Reporter) decided(at *published, key store.Key) (verdict.Status, bool) {
	finding, _ := r.graph.Compiled.Findings.Lookup(at.state, key)
	if rejection, ok := at.rejected[key]; ok {
		finding, _ = rejection.Evidence.(compile.Finding)
		if finding.Status != nil {
			finding.Status = new(r.refusedStatus(at, key, rejection, finding))
		}
	}
	if finding.Status == nil {
		return verdict.Status{}, false
	}
	return *finding.Status, true
}

func (r *Reporter) generation(at *published, key store.Key) int64 {
	return generationIn(at.observed, key)
}
