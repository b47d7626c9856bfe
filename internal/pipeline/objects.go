package pipeline

import (
	"encoding/json"

	"github.com/gatehouse-proxy/gatehouse/internal/compile"
	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/publish/status"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// object is an observed object with its status, as JSON.
func (r *Reporter) object(at *published, key store.Key) (json.RawMessage, bool) {
	value, ok := at.observed.Get(key)
	if !ok {
		return nil, false
	}
	facts := r.board.factsOf(model.GatewayID(key.Name))
	complete, _ := r.status(at, key, facts)
	complete = r.transitions.Stamp(key, complete, status.ParentNames(value), r.now())
	encoded, err := json.Marshal(status.Object(value, complete, facts, r.controller))
	return encoded, err == nil
}

// stamp notes now which conditions of an object have changed, so that their times
// do not depend on when someone asks.
func (r *Reporter) stamp(at *published, key store.Key) {
	value, ok := at.observed.Get(key)
	if !ok {
		return
	}
	if complete, ok := r.status(at, key, r.board.factsOf(model.GatewayID(key.Name))); ok {
		r.transitions.Stamp(key, complete, status.ParentNames(value), r.now())
	}
}

// status is what compile decided over the observed revision, with what proxies
// say of it. A rejected revision has the status that its trial gave it.
func (r *Reporter) status(at *published, key store.Key, facts status.Facts) (verdict.Status, bool) {
	finding, _ := r.graph.Compiled.Findings.Lookup(at.state, key)
	if rejection, ok := at.rejected[key]; ok {
		finding, _ = rejection.Evidence.(compile.Finding)
		if finding.Status != nil {
			finding.Status = new(status.Refused(*finding.Status, explain(rejection.Steps[0]), kept(rejection.Retained)))
		}
	}
	if finding.Status == nil {
		return verdict.Status{}, false
	}
	if key.Collection != "Gateway" {
		return *finding.Status, true
	}
	return status.Complete(*finding.Status, facts, r.generation(at, key)), true
}

func (r *Reporter) generation(at *published, key store.Key) int64 {
	value, _ := at.observed.Get(key)
	if object, ok := value.(snapshot.Object); ok {
		return object.GetGeneration()
	}
	return 0
}
