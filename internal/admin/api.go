package admin

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// Reporter answers for a running instance. Its methods are safe for concurrent
// use and return consistent values of one revision; none blocks on the pipeline.
type Reporter interface {
	// Verdict returns the verdict of an object; the second result is set instead
	// when the object was never seen.
	Verdict(kind, name string) (*verdict.Verdict, *NeverSeen)
	// Verdicts returns all verdicts in order of kind, then name; kind "" means every kind.
	Verdicts(kind string) []verdict.Verdict
	// Objects returns objects with their status as an API server would hold them;
	// kind "" means every kind with status, name "" every object of the kind. The
	// values of Secrets are redacted.
	Objects(kind, name string) []json.RawMessage
	// Overview returns what `gatehouse status` opens with.
	Overview() Overview
	// Views returns what each proxy believes.
	Views() []View
	// InputRejections returns what is watched and not accepted, in order of kind, name
	// and place.
	InputRejections() []InputRejection
	// ConfigDump returns a Gateway's Envoy configuration; secrets are redacted.
	ConfigDump(ctx context.Context, gateway string) ([]byte, error)
	// Ready returns nil once every accepted listener is acknowledged and reachable.
	Ready() error
}

// NeverSeen says what would have to be true for an object to be seen.
type NeverSeen struct {
	Kind    string   `json:"kind"`
	Name    string   `json:"name"`
	Reasons []string `json:"reasons"` // one line each, for example "kind HTTPRoute is watched (v1, from 9 files)"
	Closest []string `json:"closest"` // "namespace/name"
}

// Overview is the state of a running instance in one page.
type Overview struct {
	Version   string            `json:"version"`
	Envoy     string            `json:"envoy"`
	Since     time.Time         `json:"since"`
	Revision  uint64            `json:"revision"`
	Objects   map[string]int    `json:"objects"` // by verdict state
	Gateways  []GatewayOverview `json:"gateways"`
	Attention []Attention       `json:"attention"` // whatever is not serving, or serves with a warning; worst first
}

// GatewayOverview is one Gateway with its listeners and proxies.
type GatewayOverview struct {
	Name         string             `json:"name"`
	State        verdict.State      `json:"state"`
	Acknowledged int                `json:"acknowledged"`
	Proxies      int                `json:"proxies"`
	Listeners    []ListenerOverview `json:"listeners"`
}

// ListenerOverview is one listener.
type ListenerOverview struct {
	Name           string `json:"name"`
	Protocol       string `json:"protocol"`
	Hostname       string `json:"hostname,omitempty"`
	Address        string `json:"address"` // "127.0.0.1:8080"
	AttachedRoutes int32  `json:"attachedRoutes"`
	Programmed     bool   `json:"programmed"`
	Reason         string `json:"reason"` // of Programmed=False
	Message        string `json:"message"`
}

// Attention is one thing an operator should look at.
type Attention struct {
	Kind    string        `json:"kind"`
	Name    string        `json:"name"`
	State   verdict.State `json:"state"`
	Reason  string        `json:"reason"`
	Field   string        `json:"field,omitempty"`
	Message string        `json:"message"`
	Where   string        `json:"where,omitempty"`  // "examples/shop/search.yaml:18"
	Serves  string        `json:"serves,omitempty"` // what stays in force instead
	Since   time.Time     `json:"since,omitzero"`   // when it was rejected
	More    int           `json:"more,omitempty"`   // further steps of the object that are worth a look
}

// Label is the state in a word, or what is to be said of an object that serves.
func (a Attention) Label() string {
	if a.State == verdict.Serving {
		return "warning"
	}
	return strings.ToLower(string(a.State))
}

// View is what one proxy believes against what it should.
type View struct {
	Proxy     string            `json:"proxy"`
	Gateway   string            `json:"gateway"`
	Connected bool              `json:"connected"`
	Since     time.Time         `json:"since"`
	Behind    int               `json:"behind"` // resources not answered yet
	BehindFor time.Duration     `json:"behindFor"`
	Refused   []verdict.Refusal `json:"refused"`
}
