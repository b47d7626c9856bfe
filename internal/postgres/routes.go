package postgres

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
)

// Endpoint is an address that serves one form of a deployment.
type Endpoint struct {
	Address string `json:"address"`
	// Ready tells that new sessions may go there.
	Ready bool `json:"ready"`
	// Sessions are those at it now, the ones that are being connected included.
	Sessions int `json:"sessions"`
}

// Listing is one form of a deployment as /routes shows it.
type Listing struct {
	Deployment  string `json:"deployment"`
	Pooled      bool   `json:"pooled"`
	Passthrough bool   `json:"passthrough"`
	// Service is the "namespace/name" that it was found by; empty for a static one.
	Service string `json:"service,omitempty"`
	// Server is its host and port by name.
	Server    string     `json:"server"`
	Endpoints []Endpoint `json:"endpoints"`
	// Sessions have a server, Waiting ones do not.
	Sessions int `json:"sessions"`
	Waiting  int `json:"waiting"`
}

// Routes are all there are, in order, the pooler after its deployment.
func (r *Router) Routes() []Listing {
	out := []Listing{}
	at, waiting := r.roster.places()
	for b := range r.options.Resolver.All() {
		l := Listing{
			Deployment: b.Deployment, Pooled: b.Pooled, Passthrough: b.Passthrough, Service: b.Service, Server: b.Address(),
			Waiting: waiting[b.Name()], Endpoints: r.endpoints(b, at[b.Name()]),
		}
		for _, e := range l.Endpoints {
			l.Sessions += e.Sessions
		}
		out = append(out, l)
	}
	return out
}

// endpoints are those that discovery lists, and the ones that sessions are still at.
func (r *Router) endpoints(b discovery.Backend, sessions map[string]int) []Endpoint {
	listed := []Endpoint{{Address: b.Address(), Ready: true}}
	if r.options.Endpoints != nil {
		listed = r.options.Endpoints(b)
	}
	out := make([]Endpoint, 0, len(listed))
	for _, e := range listed {
		e.Sessions = sessions[e.Address]
		out = append(out, e)
		delete(sessions, e.Address)
	}
	for _, address := range slices.Sorted(maps.Keys(sessions)) {
		out = append(out, Endpoint{Address: address, Sessions: sessions[address]})
	}
	return out
}

// places are the sessions by backend and address, and how many of a backend wait.
func (r *roster) places() (at map[string]map[string]int, waiting map[string]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, waiting = map[string]map[string]int{}, map[string]int{}
	for p, sessions := range r.at {
		name := discovery.Backend{Deployment: p.deployment, Pooled: p.pooled}.Name()
		if at[name] == nil {
			at[name] = map[string]int{}
		}
		at[name][p.address] += len(sessions)
	}
	for s := range r.all {
		if _, carried := s.forwarded(); !carried {
			waiting[backendName(s.route)]++
		}
	}
	return at, waiting
}

// Admin answers GET /routes: JSON, {"routes": [...]}, or a table for who accepts
// text/plain and no JSON. It changes nothing, and shows addresses that clients must not
// see.
func (r *Router) Admin() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /routes", func(w http.ResponseWriter, q *http.Request) {
		routes := r.Routes()
		w.Header().Set("Vary", "Accept")
		if plain(q.Header.Get("Accept")) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			writeTable(w, routes)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"routes": routes}) // whoever asked may be gone
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		say(w, http.StatusOK, "deployments, servers and sessions are at /routes")
	})
	return mux
}

// plain tells whether text is asked for, and JSON is not. "*/*" is no preference.
func plain(accept string) bool {
	return strings.Contains(accept, "text/plain") && !strings.Contains(accept, "json")
}

func writeTable(w io.Writer, routes []Listing) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "DEPLOYMENT\tSERVICE\tENDPOINT\tREADY\tSESSIONS\tWAITING")
	for _, l := range routes {
		name := discovery.Backend{Deployment: l.Deployment, Pooled: l.Pooled}.Name()
		waiting := fmt.Sprint(l.Waiting)
		if len(l.Endpoints) == 0 {
			fmt.Fprintf(t, "%s\t%s\t-\t-\t0\t%s\n", name, cmp.Or(l.Service, "-"), waiting)
		}
		for _, e := range l.Endpoints {
			fmt.Fprintf(t, "%s\t%s\t%s\t%v\t%d\t%s\n", name, cmp.Or(l.Service, "-"), e.Address, e.Ready, e.Sessions, waiting)
			waiting = ""
		}
	}
	_ = t.Flush() // whoever asked may be gone
}
