package pipeline

import (
	"encoding/json"

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
	if complete, ok := r.status(at, key, facts); ok {
		complete = r.transitions.Stamp(key, complete, r.now())
		value = status.Object(value, complete, facts, r.controller)
	} else {
		value = status.Object(value, verdict.Status{}, facts, r.controller)
	}
	encoded, err := json.Marshal(value)
	return encoded, err == nil
}

// status is what compile decided over the observed revision, with what proxies
// say of it. A rejected revision has the status that its trial gave it.
func (r *Reporter) status(at *published, key store.Key, facts status.Facts) (verdict.Status, bool) {
	state := at.state
	if rejection, ok := at.rejected[key]; ok {
		state = rejection.Trial
	}
	finding, _ := r.graph.Compiled.Findings.Lookup(state, key)
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
