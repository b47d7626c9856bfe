package pipeline

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// What became of a changed object in a round.
const (
	wasChanged  = "changed"
	wasAccepted = "accepted" // it was rejected before
	wasRejected = "rejected"
	wasDeleted  = "deleted"
	wasExcluded = "excluded"
)

// take makes what a lane decided the accepted state and publishes it.
func (l *Loop) take(ctx context.Context, n *lane) {
	decision, now := n.decision, l.Now()
	changes, before := l.changes(n), l.accepted
	served := l.accepted.View()
	if n.rollback {
		before = n.in.Accepted
	}
	l.accepted, l.rejected = decision.State, decision.Rejected
	if !decision.NoBaseline {
		l.acceptances++
	}
	l.keepPending(n)

	for _, f := range decision.Faults {
		l.Log.Error("a function failed; please report this as a bug", "function", f.Node, "key", f.Key, observe.KeyError, f.Panic, "stack", string(f.Stack))
	}
	for _, refusal := range decision.Unresolved {
		l.Log.Error("output left out", "culprits", refusal.Culprits, observe.KeyMessage, refusal.Step.Message)
	}
	if decision.NoBaseline {
		l.Log.Error("nothing of what is observed can be validated, not even without any one object: nothing is published", observe.KeyObjects, len(n.pending))
	}
	l.stirred = l.stirred || slices.ContainsFunc(changes, func(c change) bool { return c.key.Collection != "EndpointSlice" })
	l.board.landed(changes, now)
	if !decision.NoBaseline {
		l.keep(ctx, served, l.accepted.View(), changes, decision.Unavailable == "")
	}
	l.awaitExpiry(now)
	l.forget(decision.Delta, changes)
	at := l.show(now)
	for c := range l.Graph.Compiled.Findings.Changes(decision.Delta) {
		if c.Has && c.New.Status != nil {
			l.reporter.stamp(at, c.New.Object)
		}
	}
	countRound(l.Metrics, decision, len(changes), now.Sub(n.began))
	if decision.NoBaseline {
		return
	}
	l.publish(ctx, decision.Delta, changes, before)
	l.remember(l.layouts.follow(decision.Delta, l.Graph.Compiled.Model.Tables, now), now)
}

// show lets readers see where the loop stands.
func (l *Loop) show(now time.Time) *published {
	at := &published{
		observed: l.observed, state: l.accepted, rejected: l.rejected, faults: faultsByObject(l.accepted), at: now,
		decided: l.acceptances > 0, expired: l.expired(now), check: l.check(),
	}
	l.board.publish(at)
	return at
}

// publish hands the delta to the proxies and the processes that run them.
func (l *Loop) publish(ctx context.Context, delta derive.Delta, changes []change, before derive.State) {
	if !l.started || l.gatewaysChanged(delta) { // the first time ends what earlier Gateways left running
		l.Proxies.Ensure(l.gateways())
	}
	update := l.update(delta)
	seq := uint64(0)
	var waiting []string
	if len(update.Set)+len(update.Remove) > 0 {
		waiting = l.affected(update)
		seq = l.Target.Publish(update)
	}
	l.reprobe(ctx, update)
	l.watchSlow(update, l.Now())
	if !l.started {
		l.started = true
		l.tellLoaded()
		return
	}
	l.inflight.add(seq, changes, before, waiting)
	l.tellLanded(l.inflight.landed())
}

// forget drops what is remembered of things that are gone.
func (l *Loop) forget(delta derive.Delta, changes []change) {
	for _, c := range changes {
		if c.what == wasDeleted {
			l.reporter.transitions.Forget(c.key)
		}
	}
	for c := range derive.Changes(delta, l.Graph.Compiled.Model.Gateways) {
		if !c.Has {
			l.board.forget(c.Old.ID)
			delete(l.probing, c.Old.ID)
			delete(l.slow, c.Old.ID)
			l.retries.forget(string(c.Old.ID))
			l.tellLanded(l.inflight.gone(firstOf(string(c.Old.ID))))
		}
	}
}

// changes says what became of each object that a lane decided about, and of standing
// rejections that it released. What it did not decide stays pending.
func (l *Loop) changes(n *lane) []change {
	var out []change
	for _, key := range slices.SortedFunc(maps.Keys(n.pending), store.Key.Compare) {
		if n.decided(key) {
			out = append(out, l.change(n, key, n.pending[key]))
			delete(n.pending, key)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(l.rejected), store.Key.Compare) {
		_, still := n.decision.Rejected[key]
		if _, listed := n.pending[key]; !still && !listed && !told(out, key) {
			out = append(out, l.change(n, key, n.began))
		}
	}
	for key := range n.decision.Rejected { // closed although it did not change
		if _, was := l.rejected[key]; !was && !told(out, key) {
			out = append(out, l.change(n, key, n.began))
		}
	}
	slices.SortFunc(out, func(a, b change) int { return a.key.Compare(b.key) })
	return out
}

// told reports whether changes in order of key tell of an object.
func told(changes []change, key store.Key) bool {
	_, found := slices.BinarySearchFunc(changes, key, func(c change, key store.Key) int { return c.key.Compare(key) })
	return found
}

func (l *Loop) change(n *lane, key store.Key, observedAt time.Time) change {
	since, _ := l.board.rejectedSince(key)
	return change{key: key, what: l.became(n, key), observedAt: observedAt, since: since}
}

func (l *Loop) became(n *lane, key store.Key) string {
	if _, ok := n.decision.Rejected[key]; ok {
		return wasRejected
	}
	if _, exists := n.captured.Get(key); !exists {
		return wasDeleted
	}
	if _, before := l.board.rejectedSince(key); before {
		return wasAccepted
	}
	finding, _ := l.Graph.Compiled.Findings.Lookup(n.decision.State, key)
	if !finding.Serves {
		return wasExcluded
	}
	return wasChanged
}

// update is the delta in the words of the proxies. A resource that can no longer
// be made stays as it is: a failure never takes away what serves. What then goes
// for good is found among the kept.
func (l *Loop) update(delta derive.Delta) xdsserve.Update {
	var u xdsserve.Update
	for _, collection := range l.Graph.Resources() {
		for c := range derive.Changes(delta, collection.Of) {
			id := collection.Name + "|" + c.Key
			before, served := l.kept[id]
			if c.Had && c.Old.Resource != nil {
				before, served = xdsserve.Scoped{Group: c.Old.Resource.Group, Name: c.Old.Resource.Name}, true
			}
			switch {
			case c.Has && c.New.Resource != nil:
				delete(l.kept, id)
				u.Set = append(u.Set, *c.New.Resource)
			case c.Has && served && len(c.New.Failures) > 0:
				l.kept[id] = before
			case served:
				delete(l.kept, id)
				u.Remove = append(u.Remove, before)
			}
		}
	}
	return u
}

func (l *Loop) gatewaysChanged(delta derive.Delta) bool {
	for range derive.Changes(delta, l.Graph.Compiled.Model.Gateways) {
		return true
	}
	return false
}

func (l *Loop) gateways() []model.Gateway {
	var out []model.Gateway
	for _, g := range derive.Items(l.accepted, l.Graph.Compiled.Model.Gateways) {
		out = append(out, g)
	}
	return out
}

// affected are the connected proxies that an update concerns, and for a Gateway
// without any, whichever comes first.
func (l *Loop) affected(u xdsserve.Update) []string {
	groups := map[string]bool{}
	for _, r := range u.Set {
		groups[r.Group] = true
	}
	for _, s := range u.Remove {
		groups[s.Group] = true
	}
	if groups[""] {
		for _, g := range l.gateways() {
			groups[string(g.ID)] = true
		}
		delete(groups, "")
	}
	var out []string
	for _, group := range sortedKeys(groups) {
		beliefs := l.Target.Ledger(group)
		for _, belief := range beliefs {
			out = append(out, belief.Proxy)
		}
		if _, wanted := derive.Lookup(l.accepted, l.Graph.Compiled.Model.Gateways, group); wanted && len(beliefs) == 0 {
			out = append(out, firstOf(group))
		}
	}
	return out
}

// faultsByObject are the standing faults by each object that the failed function saw.
func faultsByObject(s derive.State) map[store.Key][]derive.Fault {
	out := map[store.Key][]derive.Fault{}
	for _, f := range s.Faults() {
		for _, key := range s.Origins(f.Node, f.Key) {
			out[key] = append(out[key], f)
		}
	}
	return out
}
