package xdsserve

// kind is a Type as a small number, in the order in which things are made.
type kind uint8

const (
	secrets kind = iota
	clusters
	endpoints
	tables
	scopes
	listeners
	numKinds
)

// Type returns the type URL of a kind.
func (k kind) Type() Type {
	switch k {
	case secrets:
		return Secret
	case clusters:
		return Cluster
	case endpoints:
		return Endpoints
	case scopes:
		return Scopes
	case listeners:
		return Listener
	default:
		return Routes
	}
}

func kindOf(t Type) (kind, bool) {
	switch t {
	case Secret:
		return secrets, true
	case Cluster:
		return clusters, true
	case Endpoints:
		return endpoints, true
	case Scopes:
		return scopes, true
	case Listener:
		return listeners, true
	case Routes:
		return tables, true
	}
	return 0, false
}

// wild reports whether proxies ask for all resources of a kind at once; the other
// kinds are asked for by name.
func (k kind) wild() bool { return k == clusters || k == scopes || k == listeners }

// key names a resource within a group.
type key struct {
	kind kind
	name string
}

func (k key) Name() Name { return Name{Type: k.kind.Type(), Name: k.name} }
