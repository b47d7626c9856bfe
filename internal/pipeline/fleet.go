package pipeline

import (
	"maps"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/acceptance"
	"github.com/gatehouse-proxy/gatehouse/internal/translate/envoy"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// fleet is what all proxies of a Gateway refused, and what they had before. Its
// refusals are no validator's: they come after publication.
type fleet struct {
	refused refusals  // never changed: another takes its place
	order   []content // the oldest first
	// proven is the last accepted state before whatever some proxy has yet to answer.
	proven derive.State
	// rollback tells that the next round starts from proven.
	rollback bool
}

// refusals are the proxies' words about what they refused.
type refusals map[content]string

// content is one version of a resource.
type content struct {
	scoped
	version string
}

// maxRefused bounds how much is remembered of what was refused.
const maxRefused = 1000

// note remembers a refusal and reports whether it is new.
func (f *fleet) note(c content, message string) bool {
	if _, known := f.refused[c]; known {
		return false
	}
	next := refusals{c: message}
	maps.Copy(next, f.refused)
	if len(f.order) == maxRefused {
		delete(next, f.order[0])
		f.order = f.order[1:]
	}
	f.refused, f.order = next, append(f.order, c)
	return true
}

// check is the check of a trial that begins now: this product's, and what the fleet
// has refused.
func (l *Loop) check() func(derive.Result) []acceptance.Refusal {
	refused := l.fleet.refused
	return func(trial derive.Result) []acceptance.Refusal {
		return append(l.rules.Check(trial), refused.check(l.Graph, trial)...)
	}
}

// check refuses trials that would publish again what the fleet refused.
func (refused refusals) check(g *Graph, trial derive.Result) []acceptance.Refusal {
	if len(refused) == 0 {
		return nil
	}
	var out []acceptance.Refusal
	for _, collection := range g.Resources() {
		for c := range derive.Changes(trial.Delta, collection.Of) {
			if !c.Has || c.New.Resource == nil {
				continue
			}
			r := c.New.Resource
			message, known := refused[content{scoped{Group: r.Group, Name: r.Name}, r.Version}]
			if !known {
				continue
			}
			step := verdict.RefusedByProxy.Step(verdict.Publish, verdict.WasRejected, "every proxy refused "+ShortType(r.Type)+" "+r.Name.Name+": "+message)
			out = append(out, acceptance.Refusal{Suspects: func() []store.Key { return keysOfOrigins(r.Origins) }, Step: step, By: byProxies, Final: true})
		}
	}
	return out
}

func keysOfOrigins(origins []string) []store.Key {
	var out []store.Key
	for _, origin := range origins {
		if ref, ok := envoy.ParseOrigin(origin); ok {
			out = append(out, ref)
		}
	}
	return out
}

// refusedByAll looks whether every proxy of a Gateway refused what one did. Then the
// revision is refused and the next round goes back to what they had before. What one
// refused and others took rolls nobody back.
func (l *Loop) refusedByAll(e xdsserve.Event) {
	if cannotBind(e.Message) {
		return // that is no fault of the revision
	}
	for _, name := range e.Names {
		at := scoped{Group: e.Group, Name: xdsserve.Name{Type: e.Type, Name: name}}
		standing := l.Target.Standing(at.Group, at.Name)
		if standing.Total == 0 || len(standing.Refusals) < standing.Total {
			continue
		}
		r := standing.Refusals[0]
		if l.fleet.note(content{at, r.Version}, r.Message) && l.fleet.proven.View().Revision() != 0 {
			l.fleet.rollback = true
			l.window.AddWithin(l.Now(), 0)
		}
	}
}

// proveLanded moves on what is proven to the state before the oldest change that some
// proxy has yet to answer.
func (l *Loop) proveLanded() {
	switch {
	case l.fleet.rollback:
	case len(l.inflight.rounds) == 0:
		l.fleet.proven = l.accepted
	default:
		l.fleet.proven = l.inflight.rounds[0].before
	}
}

// byProxies names the proxies as what refused a revision.
const byProxies = "proxies"

// back makes a lane start from what was proven, to decide anew about all that came
// since: also about what proxies refused together with something that is taken back now.
func (n *lane) back(proven derive.State) {
	n.in.Accepted, n.rollback = proven, true
	n.in.Standing = maps.Clone(n.in.Standing)
	maps.DeleteFunc(n.in.Standing, func(_ store.Key, r acceptance.Rejection) bool { return r.By == byProxies })
}

// fromProven completes what a lane that went back decided: what it takes back is news.
func (l *Loop) fromProven(n *lane, now time.Time) {
	n.decision.Delta = l.Graph.Between(l.accepted, n.decision.State)
	for key := range n.decision.Rejected {
		if _, before := l.rejected[key]; !before {
			n.pending[key] = now
		}
	}
}
