package model

import (
	"net/netip"
	"time"
)

// ClusterID names one backend as one kind of route uses it. It derives from
// identity only: "namespace/name:port" for a Service, the same after "serviceimport/"
// for a ServiceImport, "xbackend/namespace/name" for an XBackend, each after "grpc/",
// "tcp/" or "udp/" where GRPCRoutes, routes of connections or UDPRoutes use it, and
// after "tls/" where TLS of clients goes through to it, "otlp/" where traces are sent.
// The same backend used by several Gateways has one ClusterID.
type ClusterID string

// Cluster is one backend as one Gateway's proxies use it.
type Cluster struct {
	ID       ClusterID
	Gateway  GatewayID
	Protocol UpstreamProtocol
	// Host is a DNS name to resolve, with Port; empty when the endpoints come
	// from an Endpoints value of the same ID.
	Host string
	Port uint16
	TLS  *UpstreamTLS
	// ClientCertificate is shown to the backend, which is reached by TLS; empty is none.
	ClientCertificate CertificateID `json:",omitzero"`
	// Retries bounds the retries at the backend, of all routes together.
	Retries RetryBudget `json:",omitzero"`
	Origins []Ref
}

// UpstreamProtocol is what the backend speaks.
type UpstreamProtocol string

// Upstream protocols. UpstreamHTTP1 is the default.
const (
	UpstreamHTTP1 UpstreamProtocol = "HTTP1"
	UpstreamHTTP2 UpstreamProtocol = "HTTP2" // prior knowledge in clear, ALPN with TLS
	UpstreamTCP   UpstreamProtocol = "TCP"
	UpstreamUDP   UpstreamProtocol = "UDP"
)

// UpstreamTLS is TLS towards the backend, which is always verified.
type UpstreamTLS struct {
	// SNI is sent, and the certificate must be valid for it unless Names are given.
	SNI string
	// CA are the authorities in PEM, one of which must have signed; none are the system's.
	CA []byte `json:",omitzero"`
	// Names are those of which the certificate must have one.
	Names []SubjectName `json:",omitzero"`
}

// SubjectName is a name that a certificate can have.
type SubjectName struct {
	URI   bool `json:",omitzero"` // otherwise a DNS name
	Value string
}

// Endpoints are the addresses of one Cluster, for every Gateway that uses it.
// They ride their own path: a changed EndpointSlice changes one of these.
type Endpoints struct {
	Cluster ClusterID
	// Addresses are sorted and unique; empty means that requests answer 503.
	Addresses []Endpoint
	Origins   []Ref
}

// Endpoint is one address.
type Endpoint struct {
	Address netip.AddrPort
	// Draining endpoints take no new requests unless no other is left.
	Draining bool
}

// RetryBudget bounds the retries at one backend; the zero budget does not.
type RetryBudget struct {
	// Percent is how many of the requests of the last Interval may be retries.
	Percent  uint32
	Interval time.Duration
	// Least is how many retries may be under way at a time however few requests there are.
	Least uint32
}
