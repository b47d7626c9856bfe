package pipeline

import (
	"slices"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/acceptance"
	"github.com/gatehouse-proxy/gatehouse/internal/compile"
	"github.com/gatehouse-proxy/gatehouse/internal/failmode"
	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/translate/envoy"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// Graph is the evaluation from objects to resources: compile, then translate.
type Graph struct {
	*derive.Graph
	Compiled compile.Outputs
	Envoy    envoy.Outputs
	// FailModes say what may serve of what is rejected; the zero value retains.
	FailModes failmode.Modes
	byOrigin  []derive.Index[envoy.Output] // resources
	failures  []derive.Index[envoy.Output] // outputs with failures, by the objects at fault
}

// NewGraph builds the evaluation once, from the static configuration.
func NewGraph(c compile.Options, t envoy.Options) *Graph {
	g := derive.New()
	compiled := compile.Build(g, c)
	out := &Graph{Graph: g, Compiled: compiled, Envoy: envoy.Build(g, compiled.Model, t)}
	for _, collection := range out.Resources() {
		out.byOrigin = append(out.byOrigin, derive.Group(g, collection.Name+" by origin", collection.Of, origins))
		out.failures = append(out.failures, derive.Group(g, collection.Name+" failed by origin", collection.Of, culpritsOf))
	}
	return out
}

// Resources is one collection of resources of a Graph.
type Resources struct {
	Name string
	// node is the function of the graph that makes them, or what they are projected from.
	node string
	Of   derive.Collection[envoy.Output]
}

// Resources are the resource collections in the order in which they are made.
func (g *Graph) Resources() []Resources {
	return []Resources{
		{"certificates", "xds certificates", g.Envoy.Certificates},
		{"clusters", "xds clusters", g.Envoy.Clusters},
		{"endpoints", "endpoints", g.Envoy.Endpoints},
		{"listeners", "xds listeners", g.Envoy.Listeners},
		{"tables", "xds tables", g.Envoy.Tables},
		{"rests", "xds rests", g.Envoy.Rests},
		{"hosts", "xds hosts", g.Envoy.Hosts},
	}
}

// Rules are the rules of acceptance over this evaluation.
func (g *Graph) Rules() acceptance.Rules {
	return acceptance.Rules{
		Eval: g.Eval, Between: g.Between, Check: g.check, Reads: g.reads, Identity: identity, Created: created,
		Fallback: g.FailModes.Fallback, Close: failmode.Close,
		Testify: func(trial derive.State, object store.Key) any {
			finding, _ := g.Compiled.Findings.Lookup(trial, object)
			return finding
		},
	}
}

// identity is the object of a key: how tables were looked up last is no object's.
func identity(key store.Key) string {
	if key.Collection == model.LayoutCollection {
		return ""
	}
	return key.String()
}

func created(value any) int64 {
	if o, ok := value.(meta_v1.Object); ok {
		return o.GetCreationTimestamp().UnixNano()
	}
	return 0
}

// reads is what the resources that a trial changes rest on.
func (g *Graph) reads(trial derive.Result) []store.Key {
	var out []store.Key
	for _, collection := range g.Resources() {
		for c := range derive.Changes(trial.Delta, collection.Of) {
			out = append(out, trial.State.Origins(collection.node, c.Key)...)
		}
	}
	return out
}

// culpritsOf are the objects at fault for what is missing from an output.
func culpritsOf(_ string, o envoy.Output) []string {
	var out []string
	for _, f := range o.Failures {
		for _, ref := range f.Origins {
			if origin := envoy.Origin(ref); !slices.Contains(out, origin) {
				out = append(out, origin)
			}
		}
	}
	return out
}

func origins(_ string, o envoy.Output) []string {
	if o.Resource == nil {
		return nil
	}
	return o.Resource.Origins
}
