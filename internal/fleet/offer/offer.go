// Package offer says of a Proxy what those who lease it are told, and whether it is
// offered at all, and if not, why. It is pure.
package offer

import (
	"iter"
	"time"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
)

// Offer is one Proxy as it is now. It is shared, and not changed once it is made.
type Offer struct {
	// Lease is the Proxy as a store of leases knows it; Lease.Healthy is whether it is
	// offered.
	Lease lease.Proxy
	// Host is what clients connect to: an address without brackets, or a DNS name.
	Host   string
	Port   int
	Scheme egress_v1alpha1.Scheme
	// IP is Host if it is an address, or what the status says; empty when not known.
	IP             string
	Zone, Provider string
	// Healthy is the verdict of probes.
	Healthy bool
	// Why is Offered, or the first reason not to be, and Message says it in one line.
	Why     Why
	Message string

	// TLS is how a proxy of scheme https is verified; nil is by its host and the system's
	// authorities.
	TLS *TLS

	keys keys
}

// TLS is how a proxy of scheme https is verified by those who lease it.
type TLS struct {
	// ServerName is empty for the host.
	ServerName string
	// CA is the authorities' certificates in PEM; nil for the system's.
	CA                 []byte
	InsecureSkipVerify bool
}

// Why says whether a Proxy is offered.
type Why string

// Reasons, in the order in which they are looked at.
const (
	Offered            Why = "Offered"
	Deleting           Why = "Deleting"           // it is being deleted
	NotRunning         Why = "NotRunning"         // its instance does not run, or has no address yet
	Draining           Why = "Draining"           // its instance is about to be replaced
	CredentialsMissing Why = "CredentialsMissing" // the Secret of spec.auth is missing or not right
	NotProbed          Why = "NotProbed"          // no verdict of probes yet
	Unhealthy          Why = "Unhealthy"          // probes fail
)

// Reasons are Offered and all reasons not to be, in the order in which they are looked at.
func Reasons() []Why {
	return []Why{Offered, Deleting, NotRunning, Draining, CredentialsMissing, NotProbed, Unhealthy}
}

// Book is what may be leased, as it is now. Its methods may be called at once.
type Book interface {
	// All are all Offers, offered or not, in order of namespace and name.
	All() iter.Seq[*Offer]
	// ByUID returns one of them, nil without.
	ByUID(uid string) *Offer
}

// Credentials are what a client authenticates with at the proxy. They are told to whom
// a lease is granted, and to nobody else.
type Credentials struct{ Username, Password string }

// String hides them.
func (c Credentials) String() string { return "(credentials)" }

// keys are what credentials are made from.
type keys struct {
	fixed    Credentials
	leaseKey []byte // nil without
	instance string // what credentials of leases are made for
}

// ForLease returns what the holder of a lease authenticates with: credentials of the
// lease's own, which end with it, where the proxy can verify them; else the proxy's;
// the zero value where it asks for none.
func (o *Offer) ForLease(id string, until time.Time) Credentials {
	if o.keys.leaseKey == nil {
		return o.keys.fixed
	}
	return o.keys.own(id, until)
}

// CredentialsEnd says whether [Offer.ForLease] returns credentials that end with the lease,
// so that a renewed lease needs others.
func (o *Offer) CredentialsEnd() bool { return o.keys.leaseKey != nil }
