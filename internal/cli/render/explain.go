package render

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/gatehouse-proxy/gatehouse/pkg/spelling"
)

// Explained is what a database router makes of a login.
type Explained struct {
	Login string `json:"login"`
	// Route is nil where the login, options and host name make none.
	Route *Route `json:"route,omitempty"`
	// Server is host:port; empty where there is none, or no table to look in.
	Server string `json:"server,omitempty"`
	// Passthrough tells that TLS is left to client and server.
	Passthrough bool `json:"passthrough,omitempty"`
	// Service is the "namespace/name" that serves the deployment, Losers those that claim
	// it too; empty without a cluster.
	Service string   `json:"service,omitempty"`
	Losers  []string `json:"losers,omitempty"`
	// Endpoints are those of the Service, by address.
	Endpoints []Endpoint `json:"endpoints,omitempty"`
	// Problems are sentences, each about a Service.
	Problems []string `json:"problems,omitempty"`
	// Refusal is nil for a session that would be connected.
	Refusal *Refusal `json:"refusal,omitempty"`
	// Known are the backends that there are, where the one asked for is not among them.
	Known []string `json:"known,omitempty"`
}

// Route is where a session goes, and as whom.
type Route struct {
	User       string `json:"user"`
	Deployment string `json:"deployment"`
	Pooled     bool   `json:"pooled"`
	// NamedBy is login, options or SNI.
	NamedBy  string `json:"namedBy"`
	Database string `json:"database"`
	// DatabaseNamed tells that the client named this database itself.
	DatabaseNamed bool `json:"databaseNamed"`
}

// Refusal is what a client is told instead of being connected.
type Refusal struct {
	Severity string `json:"severity"`
	SQLSTATE string `json:"sqlstate"`
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`
}

// Endpoint is one of a Service; new sessions go to those that are ready.
type Endpoint struct {
	Address string `json:"address"`
	Ready   bool   `json:"ready"`
}

// Explain draws what becomes of a login.
func Explain(s Style, e Explained) string {
	var lines []string
	if e.Route != nil {
		lines = append(lines, e.Route.line())
	}
	switch {
	case e.Refusal != nil:
		lines = append(lines, e.Refusal.lines()...)
		if known := e.known(); known != "" {
			lines = append(lines, known)
		}
	case e.Server == "":
		lines = append(lines, "→ nowhere yet: name the servers with --static-backends, or a cluster with --kubeconfig", e.Route.database())
	case e.Passthrough:
		lines = append(lines, e.destination())
	default:
		lines = append(lines, e.destination(), e.Route.database())
	}
	lines = append(lines, e.found()...)
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(s.Text(line) + "\n")
	}
	return b.String()
}

// destination is where the session goes.
func (e Explained) destination() string {
	ready := 0
	for _, endpoint := range e.Endpoints {
		if endpoint.Ready {
			ready++
		}
	}
	switch {
	case e.Service == "":
		return "→ " + e.Server + ", from the static table"
	case ready == 0:
		return "→ " + e.Server + ", by the name of Service " + e.Service + ", which has no EndpointSlice"
	case ready == 1:
		return "→ " + e.Server + ", the endpoint of Service " + e.Service
	}
	return fmt.Sprintf("→ %s, or another of the %d ready endpoints of Service %s", e.Server, ready, e.Service)
}

// found is what a cluster knows.
func (e Explained) found() []string {
	var lines []string
	if e.Passthrough {
		lines = append(lines, "TLS passes through: the host name alone routes, and nothing is rewritten")
	}
	if e.Service != "" && e.Server == "" {
		lines = append(lines, "served by Service "+e.Service)
	}
	for _, endpoint := range e.Endpoints {
		state := "not ready: no new sessions, but those that are there stay"
		if endpoint.Ready {
			state = "ready"
		}
		lines = append(lines, "endpoint "+endpoint.Address+": "+state)
	}
	for i, problem := range e.Problems {
		if i == maxKnown {
			lines = append(lines, fmt.Sprintf("there are %d more problems", len(e.Problems)-i))
			break
		}
		lines = append(lines, "problem: "+problem)
	}
	return lines
}

func (r *Route) line() string {
	pooled := "no"
	if r.Pooled {
		pooled = "yes"
	}
	line := fmt.Sprintf("user %s · deployment %s · pooled %s", asIs(r.User), asIs(r.Deployment), pooled)
	if r.NamedBy != "login" {
		line += " · named by " + r.NamedBy
	}
	return line
}

func (r *Route) database() string {
	if r.DatabaseNamed {
		return "database: " + asIs(r.Database) + ", as the client names it"
	}
	return "database: " + asIs(r.Database) + " when the client names none (psql sends the login; it is replaced)"
}

// lines are what a client shows.
func (r *Refusal) lines() []string {
	lines := []string{fmt.Sprintf("refused: %s: %s (SQLSTATE %s)", r.Severity, r.Message, r.SQLSTATE)}
	if r.Hint != "" {
		lines = append(lines, "         HINT: "+r.Hint)
	}
	return lines
}

// maxKnown is how many backends are listed.
const maxKnown = 10

// known helps an operator, who may see what a client may not.
func (e Explained) known() string {
	if len(e.Known) == 0 || e.Route == nil {
		return ""
	}
	if best, ok := spelling.Closest(e.Route.Deployment, e.Known); ok && best != e.Route.Deployment {
		return "did you mean " + best + "?"
	}
	if more := len(e.Known) - maxKnown; more > 0 {
		return fmt.Sprintf("there are %s, and %d more", strings.Join(e.Known[:maxKnown], ", "), more)
	}
	return "there are " + strings.Join(e.Known, ", ")
}

// asIs shows a name as it is where it cannot be taken for something else.
func asIs(name string) string {
	odd := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-@", r) || r == unicode.ReplacementChar
	}
	if name == "" || strings.ContainsFunc(name, odd) {
		return strconv.Quote(name)
	}
	return name
}
