package admin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// States are all verdict states, worst first.
var States = []verdict.State{verdict.Rejected, verdict.Excluded, verdict.Partial, verdict.Pending, verdict.Serving}

func (a *api) verdicts(w http.ResponseWriter, r *http.Request) {
	states := r.URL.Query()["state"]
	for _, s := range states {
		if !slices.Contains(States, verdict.State(s)) {
			fail(w, http.StatusBadRequest, fmt.Sprintf("state %q is none of %v", s, States))
			return
		}
	}
	kind := r.URL.Query().Get("kind")
	if kind != "" {
		kind = a.kind(kind)
	}
	items := []verdict.Verdict{}
	for _, v := range a.Reporter.Verdicts(kind) {
		if len(states) == 0 || slices.Contains(states, string(v.State)) {
			items = append(items, complete(v))
		}
	}
	respond(w, http.StatusOK, list(items))
}

func (a *api) verdict(w http.ResponseWriter, r *http.Request) {
	t, problem := a.target(r)
	if problem != nil {
		respond(w, http.StatusConflict, problem)
		return
	}
	v, never := a.Reporter.Verdict(t.kind, t.name)
	if v == nil {
		respond(w, http.StatusNotFound, neverSeen(t, never))
		return
	}
	respond(w, http.StatusOK, complete(*v))
}

func neverSeen(t target, never *NeverSeen) Problem {
	n := NeverSeen{Kind: t.kind, Name: t.name}
	if never != nil {
		n = *never
	}
	n.Reasons, n.Closest = list(n.Reasons).Items, list(n.Closest).Items
	return Problem{Error: fmt.Sprintf("%s %s was never seen", n.Kind, n.Name), NeverSeen: &n}
}

func (a *api) objects(w http.ResponseWriter, r *http.Request) {
	var t target
	if r.PathValue("kind") != "" {
		var problem *Problem
		if t, problem = a.target(r); problem != nil {
			respond(w, http.StatusConflict, problem)
			return
		}
	}
	items := a.Reporter.Objects(t.kind, t.name)
	if t.name == "" {
		respond(w, http.StatusOK, list(items))
		return
	}
	if len(items) == 0 {
		_, never := a.Reporter.Verdict(t.kind, t.name)
		respond(w, http.StatusNotFound, neverSeen(t, never))
		return
	}
	respond(w, http.StatusOK, items[0])
}

func (a *api) overview(w http.ResponseWriter, _ *http.Request) {
	o := a.Reporter.Overview()
	o.Gateways, o.Attention = list(o.Gateways).Items, list(o.Attention).Items
	respond(w, http.StatusOK, o)
}

func (a *api) views(w http.ResponseWriter, _ *http.Request) {
	items := slices.Clone(a.Reporter.Views())
	for i := range items {
		items[i].Refused = list(items[i].Refused).Items
	}
	respond(w, http.StatusOK, list(items))
}

func (a *api) healthz(w http.ResponseWriter, _ *http.Request) {
	if a.Live == nil {
		plain(w, nil)
		return
	}
	plain(w, a.Live())
}

func (a *api) readyz(w http.ResponseWriter, _ *http.Request) { plain(w, a.Reporter.Ready()) }

func plain(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintln(w, err)
		return
	}
	_, _ = fmt.Fprintln(w, "ok")
}

func (a *api) configDump(w http.ResponseWriter, r *http.Request) {
	gateway := r.URL.Query().Get("gateway")
	if gateway == "" {
		all := a.Reporter.Overview().Gateways
		if len(all) != 1 {
			var names []string
			for _, g := range all {
				names = append(names, g.Name)
			}
			respond(w, http.StatusBadRequest, Problem{
				Error:      fmt.Sprintf("there are %d gateways; say which by ?gateway=NAMESPACE/NAME", len(all)),
				Candidates: names,
			})
			return
		}
		gateway = all[0].Name
	}
	dump, err := a.Reporter.ConfigDump(r.Context(), gateway)
	if err != nil {
		fail(w, http.StatusBadGateway, fmt.Sprintf("gateway %s: its proxy gave no configuration: %v", gateway, err))
		return
	}
	respond(w, http.StatusOK, json.RawMessage(dump))
}
