package model

import "time"

// TableID names a route table: "namespace/name/port" for a plain HTTP port,
// "namespace/name/port/listener" for one HTTPS listener.
type TableID string

// RouteTable is everything one HTTP connection manager answers: the virtual hosts
// that name it. It has no list of them, so that a changed host does not change it.
type RouteTable struct {
	ID      TableID
	Gateway GatewayID
	// Scoped tells that the table is large: its exact hosts are looked up one by
	// one, so that a changed host costs its own size. Answers are the same.
	Scoped bool
	// Both tells that connections may still look hosts up the other way.
	Both bool
}

// Whole reports whether the table is needed as a whole.
func (t RouteTable) Whole() bool { return !t.Scoped || t.Both }

// ByHost reports whether its exact hosts are needed one by one.
func (t RouteTable) ByHost() bool { return t.Scoped || t.Both }

// VirtualHost is the ordered routes of one host name in one table, in which its
// domain is unique. Requests go to the most specific one alone. It exists
// for every listener's own host name even when no route attaches: such requests
// get 404, and requests for a host of another HTTPS listener get 421.
type VirtualHost struct {
	Table   TableID
	Gateway GatewayID
	// Domain is an exact name, "*.example.com", or "*".
	Domain string
	// Routes are in the order in which they are tried.
	Routes []Route
	// Misdirected answers every request with 421 (RFC 9110 section 15.5.20).
	Misdirected bool
	// Admit are services that the listener asks about every request, one after the
	// other and before routes are matched, by what the request then is.
	Admit []Auth `json:",omitzero"`
	// Closed answers every request with 500: the listener has filters that cannot be
	// applied and must not be skipped.
	Closed  bool `json:",omitzero"`
	Origins []Ref
}

// Route is one match of one rule of one HTTPRoute, on one host.
type Route struct {
	// Name derives from identity and content ("namespace/name" of the
	// HTTPRoute plus a hash of match and action), never from a position.
	Name  string
	Match Match
	// Exactly one of Forward, Redirect, Status is set.
	Forward  *Forward
	Redirect *Redirect
	// Status answers directly with this HTTP status, for example 500 when no
	// backend of the rule can be used.
	Status  uint32
	Filters Filters
	Rewrite *Rewrite
	Origins []Ref
}

// Match is what a request must satisfy; all fields must hold.
type Match struct {
	// GRPC takes gRPC requests only.
	GRPC    bool `json:",omitzero"`
	Path    PathMatch
	Method  string // empty matches any
	Headers []ValueMatch
	Query   []ValueMatch
}

// PathKind is how a path is compared.
type PathKind string

// Path match kinds. PathPrefix is by path elements: "/a" matches "/a" and "/a/b", not "/ab".
const (
	PathExact  PathKind = "Exact"
	PathPrefix PathKind = "Prefix"
	PathRegex  PathKind = "Regex"
)

// PathMatch compares the path without query.
type PathMatch struct {
	Kind  PathKind
	Value string
}

// ValueMatch compares one header or query parameter.
type ValueMatch struct {
	Name  string
	Value string
	Regex bool
}

// MaxDuration is the longest timeout or pause; a longer one is surely a mistake.
const MaxDuration = 365 * 24 * time.Hour

// Forward sends requests or connections to weighted backends.
type Forward struct {
	// Backends have a sum of weights of at least 1.
	Backends []WeightedBackend
	// Timeout bounds the whole request; 0 means none.
	Timeout time.Duration
	// TryTimeout bounds each request to a backend; 0 means none.
	TryTimeout time.Duration `json:",omitzero"`
	// Retry is nil where only what no backend has begun to process is tried again.
	Retry *Retry `json:",omitzero"`
}

// WeightedBackend is one share of a Forward. An empty Cluster answers 500 for
// its share (missing or ungranted backend).
type WeightedBackend struct {
	Cluster ClusterID
	Weight  uint32
	// Filters, Rewrite and Redirect apply to this share only, after those of the
	// route. A Rewrite replaces what it sets of the route's; a share with a
	// Redirect is answered and forwards nothing.
	Filters  Filters
	Rewrite  *Rewrite  `json:",omitzero"`
	Redirect *Redirect `json:",omitzero"`
	// Session keeps clients at one endpoint of this backend. It never decides which
	// backend a request goes to.
	Session *Session `json:",omitzero"`
}

// Rewrite changes host and path on the way to the backend.
type Rewrite struct {
	Hostname string // empty keeps it
	Path     *PathEdit
}

// PathEdit replaces the whole path, or the prefix that matched.
type PathEdit struct {
	// Prefix replaces only the matched prefix; it goes with a PathPrefix match.
	Prefix bool
	Value  string
}

// Redirect answers with a Location.
type Redirect struct {
	Scheme   string // empty keeps it
	Hostname string // empty keeps it
	Port     uint16 // 0 omits it: the well-known port of Scheme, or the request's own
	Path     *PathEdit
	Status   uint32 // 301, 302, 303, 307 or 308
}
