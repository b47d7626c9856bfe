package pipeline

import (
	"github.com/gatehouse-proxy/gatehouse/internal/acceptance"
	"github.com/gatehouse-proxy/gatehouse/internal/compile"
	"github.com/gatehouse-proxy/gatehouse/internal/translate/envoy"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// Graph is the evaluation from objects to resources: compile, then translate.
type Graph struct {
	*derive.Graph
	Compiled compile.Outputs
	Envoy    envoy.Outputs
	byOrigin []derive.Index[envoy.Output]
}

// NewGraph builds the evaluation once, from the static configuration.
func NewGraph(c compile.Options, t envoy.Options) *Graph {
	g := derive.New()
	compiled := compile.Build(g, c)
	out := &Graph{Graph: g, Compiled: compiled, Envoy: envoy.Build(g, compiled.Model, t)}
	for _, collection := range out.Resources() {
		out.byOrigin = append(out.byOrigin, derive.Group(g, collection.Name+" by origin", collection.Of, origins))
	}
	return out
}

// Resources is one collection of resources of a Graph.
type Resources struct {
	Name string
	Of   derive.Collection[envoy.Output]
}

// Resources are the resource collections in the order in which they are made.
func (g *Graph) Resources() []Resources {
	return []Resources{
		{"certificates", g.Envoy.Certificates},
		{"clusters", g.Envoy.Clusters},
		{"endpoints", g.Envoy.Endpoints},
		{"listeners", g.Envoy.Listeners},
		{"tables", g.Envoy.Tables},
	}
}

// Rules are the rules of acceptance over this evaluation.
func (g *Graph) Rules() acceptance.Rules { return acceptance.Rules{Eval: g.Eval, Check: g.check} }

func origins(_ string, o envoy.Output) []string {
	if o.Resource == nil {
		return nil
	}
	return o.Resource.Origins
}
