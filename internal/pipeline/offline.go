package pipeline

import (
	"context"
	"errors"
	"net/netip"
	"time"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/acceptance"
	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/publish/status"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// Offline puts one batch through a round and returns the decision, and a
// Reporter that answers as if one proxy of each Gateway had acknowledged
// everything at the time given.
func (g *Graph) Offline(batch snapshot.Batch, controller string, bind netip.Addr, now time.Time) (acceptance.Decision, *Reporter) {
	observed := store.View{}.Apply(batch.Edits...)
	decision := g.Rules().Round(acceptance.Input{Observed: observed})
	r := &Reporter{
		graph: g, board: newBoard(), proxiesOf: agreeing{}, controller: gateway_v1.GatewayController(controller), bind: bind,
		now: func() time.Time { return now }, transitions: status.NewTransitions(),
		dump: func(context.Context, string) ([]byte, error) { return nil, errors.New("nothing runs") },
	}
	r.board.observe(batch)
	r.board.current.Store(&published{
		observed: observed, state: decision.State, rejected: decision.Rejected, faults: faultsByObject(decision.State), at: now, decided: true,
	})
	for id := range derive.Items(decision.State, g.Compiled.Model.Gateways) {
		r.board.setFacts(model.GatewayID(id), r.allProgrammed(decision.State, model.GatewayID(id)))
	}
	return decision, r
}

func (r *Reporter) allProgrammed(s derive.State, gateway model.GatewayID) status.Facts {
	facts := status.Facts{Listeners: map[string]status.Programmed{}}
	for key, listener := range derive.Items(s, r.graph.Compiled.Model.Listeners) {
		if listener.Gateway == gateway {
			facts.Listeners[key] = status.Programmed{Done: true}
			facts.Addresses = appendUnique(facts.Addresses, r.bound(listener).Addr().String())
		}
	}
	return facts
}

// assuming answers as if every proxy had acknowledged everything: what there is to
// say before any can have answered.
func (r *Reporter) assuming() *Reporter {
	return &Reporter{
		graph: r.graph, board: r.board, proxiesOf: agreeing{}, controller: r.controller, bind: r.bind,
		identity: r.identity, now: r.now, transitions: r.transitions, dump: r.dump,
	}
}

// agreeing is a ledger in which every Gateway has one proxy that took everything.
type agreeing struct{}

func (agreeing) Ledger(group string) []xdsserve.Belief {
	return []xdsserve.Belief{{Proxy: group, Group: group}}
}

func (agreeing) Standing(string, ...xdsserve.Name) xdsserve.Standing {
	return xdsserve.Standing{Acknowledged: 1, Total: 1}
}
