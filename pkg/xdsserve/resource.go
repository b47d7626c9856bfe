package xdsserve

import (
	"slices"
	"strings"
)

// Type is an xDS resource type URL.
type Type string

// The types served, in the order in which they are made.
const (
	Secret    Type = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"
	Cluster   Type = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	Endpoints Type = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
	Routes    Type = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"
	Scopes    Type = "type.googleapis.com/envoy.config.route.v3.ScopedRouteConfiguration"
	Listener  Type = "type.googleapis.com/envoy.config.listener.v3.Listener"
)

// Types returns the types served, in the order in which they are made.
func Types() []Type { return []Type{Secret, Cluster, Endpoints, Routes, Scopes, Listener} }

// Short is the last part of the URL, for example "RouteConfiguration".
func (t Type) Short() string { return string(t)[strings.LastIndexByte(string(t), '.')+1:] }

// ShortTypes returns the short names of Types.
func ShortTypes() []string {
	var out []string
	for _, t := range Types() {
		out = append(out, t.Short())
	}
	return out
}

// TypeWithShort returns the type served whose short name is given, if there is one.
func TypeWithShort(name string) (Type, bool) {
	i := slices.Index(ShortTypes(), name)
	if i < 0 {
		return "", false
	}
	return Types()[i], true
}

// Name names a resource as a proxy knows it.
type Name struct {
	Type Type
	Name string
}

// Resource is one immutable resource, marshalled.
type Resource struct {
	Name
	// Group is the proxies that may see it; empty means all (they still have to subscribe by name).
	Group string
	// Body is the deterministically marshalled message of Type.
	Body []byte
	// Version is the hash of Body; equal versions are never sent twice to a proxy.
	Version string
	// Uses are the resources that must be there first: a listener's routes and
	// secrets, a route table's or scope's clusters, a cluster's endpoints (which
	// follow it whenever it is sent). Scopes are named "set/part"; a listener uses
	// the rest of its set, named "set/". What something published uses has to be
	// published: a proxy is not settled before it has that, too.
	Uses []Name
	// Parts are the pieces of a table's or scope's Body that wait for their clusters on
	// their own, in order; without any it waits as a whole. Its Uses are theirs.
	Parts []Part
	// SlowToWarm marks a cluster whose readiness depends on something outside
	// (DNS, health checks): what uses it waits for it, at most Options.WarmTimeout.
	SlowToWarm bool
	// Origins are opaque; they come back in a Refusal.
	Origins []string
}

// Equal reports whether two resources are the same to every proxy.
func (r Resource) Equal(o Resource) bool {
	return r.Name == o.Name && r.Group == o.Group && r.Version == o.Version
}

// Update is one atomic change of the resources served.
type Update struct {
	Set    []Resource
	Remove []Scoped
}

// Scoped names a resource of one group.
type Scoped struct {
	Group string
	Name
}
