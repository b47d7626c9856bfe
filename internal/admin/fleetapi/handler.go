package fleetapi

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/explain"
	"github.com/gatehouse-proxy/gatehouse/pkg/spelling"
)

// Options make a Handler.
type Options struct {
	Shell explain.Shell
	// Uses is nil where nothing is probed or leased.
	Uses explain.Uses
	// Requests counts those for leases; nil where nobody does.
	Requests func() explain.Requests
	Now      func() time.Time
}

// api holds the handlers.
type api struct {
	Options
}

// Handler returns the API, health, and profiles, guarded as [admin.Guard] says.
func Handler(o Options) http.Handler {
	a := &api{o}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/fleet", a.list)
	mux.HandleFunc("GET /v1/fleet/{namespace}/{name}", a.why)
	mux.HandleFunc("GET /v1/", func(w http.ResponseWriter, r *http.Request) {
		admin.Refuse(w, http.StatusNotFound, admin.Problem{Error: "no " + r.URL.Path + ": the API has /v1/fleet and /v1/fleet/NAMESPACE/NAME"})
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { admin.Plain(w, nil) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { admin.Plain(w, a.Shell.Ready()) })
	admin.Profiles(mux)
	return admin.Guard(mux)
}

func (a *api) list(w http.ResponseWriter, r *http.Request) {
	fleet, err := a.Shell.Fleet(r.Context())
	if err != nil {
		admin.Refuse(w, http.StatusServiceUnavailable, admin.Problem{Error: "the Proxies cannot be read: " + err.Error()})
		return
	}
	leasing := a.fill(r.Context(), fleet.Proxies)
	admin.Respond(w, http.StatusOK, explain.Summary(fleet, leasing, a.Now()))
}

func (a *api) why(w http.ResponseWriter, r *http.Request) {
	fleet, err := a.Shell.Fleet(r.Context())
	if err != nil {
		admin.Refuse(w, http.StatusServiceUnavailable, admin.Problem{Error: "the Proxies cannot be read: " + err.Error()})
		return
	}
	name := r.PathValue("namespace") + "/" + r.PathValue("name")
	i := slices.IndexFunc(fleet.Proxies, func(k explain.Known) bool { return k.Namespace+"/"+k.Name == name })
	if i < 0 {
		never := neverSeen(fleet, name)
		admin.Refuse(w, http.StatusNotFound, admin.Problem{Error: "Proxy " + name + " was never seen", NeverSeen: &never})
		return
	}
	a.fill(r.Context(), fleet.Proxies[i:i+1])
	admin.Respond(w, http.StatusOK, explain.Why(fleet.Proxies[i], a.Now()))
}

// fill adds how Proxies are probed and leased.
func (a *api) fill(ctx context.Context, proxies []explain.Known) explain.Leasing {
	if a.Uses == nil {
		return explain.Leasing{}
	}
	leasing := a.Uses.Fill(ctx, proxies)
	if a.Requests != nil && leasing.Store != "" {
		leasing.Requests = new(a.Requests())
	}
	return leasing
}

// neverSeen says what would have to be true for a Proxy to be seen.
func neverSeen(fleet explain.Fleet, name string) admin.NeverSeen {
	var names []string
	for _, k := range fleet.Proxies {
		names = append(names, k.Namespace+"/"+k.Name)
	}
	n := admin.NeverSeen{Kind: "Proxy", Name: name, Closest: []string{}, Reasons: []string{
		fmt.Sprintf("%s has %d Proxies, this is none of them", fleet.Source, len(names)),
	}}
	if count := len(fleet.Problems); count > 0 {
		n.Reasons = append(n.Reasons, fmt.Sprintf("documents that are refused there may be it (%d); 'gatehouse fleet list' shows them", count))
	}
	if near, ok := spelling.Closest(name, names); ok {
		n.Closest = append(n.Closest, near)
	}
	return n
}
