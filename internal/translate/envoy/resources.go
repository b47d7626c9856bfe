package envoy

import (
	"net/netip"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// Options are the static part of a translation.
type Options struct {
	// BindAddress is used by listeners without an address of their own.
	BindAddress netip.Addr
}

// Failure is a model value that could not become a valid resource.
type Failure struct {
	Type    xdsserve.Type
	Name    string
	Message string
	Field   string
	Origins []model.Ref
}

// Outputs are the derived collections of a translation. Keys are
// "group|type short name|name" so that they are unique.
type Outputs struct {
	Listeners, Tables, Clusters, Endpoints, Certificates derive.Collection[Output]
}

// Output is a resource, or the failure to make one; exactly one is set.
type Output struct {
	Resource *xdsserve.Resource
	Failure  *Failure
}

// Build adds the translation of a model to a graph.
func Build(g *derive.Graph, m model.Collections, o Options) Outputs { panic("todo") }
