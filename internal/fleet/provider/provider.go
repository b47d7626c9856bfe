// Package provider is what the fleet asks of a cloud, a cluster or a machine: create
// an instance that runs a forward proxy, look at it, delete it, list what is there.
//
// A good provider rather fails than answers in part: what it cannot see it reports as
// an error of that scope, never as an empty list. No call waits for an instance to be
// ready; readiness is found by looking again. All calls are safe to repeat, may run
// at once, take a context with a deadline, and touch only instances that carry the
// label of the caller's cluster.
package provider

import (
	"context"
	"net/netip"
	"time"
)

// Provider makes instances. What its errors mean is said by [Class].
type Provider interface {
	// Create asks for an instance named r.Name and returns once that was accepted. One
	// that exists with that name, cluster and UID, and was not being deleted, is a success
	// and is returned as it is: its Hash may be another. One that is being deleted is
	// [ErrTransient]; one of that name that is not ours is [ErrPermanent].
	Create(ctx context.Context, r CreateRequest) (Instance, error)
	// Get looks at one instance by ID. [ErrNotFound] means that it is certain not to exist.
	Get(ctx context.Context, id string) (Instance, error)
	// Delete asks for the deletion of one instance and returns once that was accepted.
	// One that is gone is a success.
	Delete(ctx context.Context, id string) error
	// Find returns all instances of a Proxy in every scope, also those being deleted, as
	// [Provider.ListByTag] would.
	Find(ctx context.Context, cluster, uid string) ([]Instance, error)
	// ListByTag returns all instances with the cluster's label, of every namespace or
	// project that the provider knows. With a [PartialError] the list holds what could be
	// seen, and nothing follows from what it lacks.
	ListByTag(ctx context.Context, cluster string) ([]Instance, error)
}

// CreateOutcome is implemented by providers that can tell why an accepted create came
// to nothing.
type CreateOutcome interface {
	// CreateError returns the error that the operation ended with, of the classes of
	// [Class], or nil when it has not ended, ended well, or is not known any more.
	CreateError(ctx context.Context, id, operation string) error
}

// CreateRequest is all that an instance is made from.
type CreateRequest struct {
	// Name is [NameFromUID] of the Proxy's UID: at most 63 letters, digits and dashes.
	Name string
	// Cluster, UID and Hash become labels of the instance; Hash is the whole hash, of
	// which the label has the first 32 digits.
	Cluster, UID, Hash string
	// Namespace and Proxy name the object.
	Namespace, Proxy string

	Zone, MachineType, Image string
	Spot                     bool
	Network, Subnetwork      string
	// ExternalIP asks for an address in the Internet.
	ExternalIP bool
	// Port and Scheme (http, https, socks5) are what the proxy listens with.
	Port   int
	Scheme string
	// UserData are the bytes of cloud-init, complete with credentials; nil for providers
	// that start the proxy themselves.
	UserData []byte
	// AuthSecret names the Secret of the Namespace with Credentials, for providers whose
	// instances read it there; empty without.
	AuthSecret  string
	Credentials Credentials
	// Config are the bytes of the Secret that providerConfigRef names, by key; nil without.
	Config map[string][]byte
}

// Credentials are what clients of the proxy authenticate with, and what it proves itself
// with to them; all empty for none. Providers deliver them as files named username,
// password, lease-key, tls.crt and tls.key. They are never logged.
type Credentials struct {
	Username, Password string
	// LeaseKey is the key of credentials that leases get; nil without.
	LeaseKey []byte
	// TLSCert and TLSKey are PEM, for scheme https; nil without.
	TLSCert, TLSKey []byte
}

// State is how far an instance has come.
type State int

// States. There is no zero state, so that a forgotten one is seen.
const (
	Provisioning State = iota + 1 // accepted, or started, or without an address yet
	Running                       // runs and has an address
	Stopped                       // does not run, and will not by itself
	Terminating                   // is being deleted
)

// Instance is what a provider says of one instance.
type Instance struct {
	// ID is the provider's own name, complete with its zone or namespace.
	ID, Name           string
	Cluster, UID, Hash string // as labelled; Hash has 32 digits
	State              State
	// IP is where clients connect; valid when Running.
	IP netip.Addr
	// CreatedAt is by the provider's clock.
	CreatedAt time.Time
	// Operation is the provider's name of a create under way, for [CreateOutcome].
	Operation string
	// Detail says in one line why it does not run, where the provider knows; empty
	// otherwise. It stays the same while the reason does.
	Detail string
}

// NameFromUID returns the name of the instance of the Proxy with this UID.
func NameFromUID(uid string) string { return "px-" + uid }

// LabelHash is the part of a hash that fits into a label.
func LabelHash(hash string) string { return hash[:min(len(hash), 32)] }
