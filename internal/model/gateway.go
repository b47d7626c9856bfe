package model

import "net/netip"

// GatewayID names a Gateway and with it the group of proxies that serve it:
// "namespace/name".
type GatewayID string

// Gateway is one accepted Gateway: what infrastructure must exist for it.
type Gateway struct {
	ID         GatewayID
	Generation int64
	Settings   Settings
	// Tracing is what the Gateway tells of each HTTP request; nil is nothing.
	Tracing *Tracing `json:",omitzero"`
}

// Settings are the data-plane settings of a Gateway, from the GatewayConfig
// that its GatewayClass or the Gateway itself refers to, defaulted.
type Settings struct {
	// Concurrency is the number of Envoy worker threads; 0 means one per core.
	Concurrency uint32
	// LogLevel is Envoy's own log level: trace, debug, info, warning, error, critical, off.
	LogLevel string
	// AccessLog is a file path, "-" for the proxy's standard output, or empty for none.
	AccessLog string
	// Statistics are beginnings of names of statistics that are kept beside those
	// that are read.
	Statistics []string `json:",omitzero"`
}

// Protocol is what a bound port speaks.
type Protocol string

// The protocols of a bound port. HTTPS and TLS share ports by server name; such a
// port is HTTPS where any of its chains is.
const (
	HTTP  Protocol = "HTTP"
	HTTPS Protocol = "HTTPS"
	TLS   Protocol = "TLS"
	TCP   Protocol = "TCP"
	UDP   Protocol = "UDP" // datagrams, whose ports are apart from those of connections
)

// Listener is one bound address and port of one Gateway. Several Gateway API
// listeners may share it, told apart by host name.
type Listener struct {
	Gateway GatewayID
	// Address is the address to bind; the zero Addr means the process default.
	Address  netip.Addr
	Port     uint16
	Protocol Protocol
	// Table is the route table of an HTTP port; HTTPS ports have one per chain.
	Table TableID
	// Admits is how many services the hosts of Table are admitted by at most; a change
	// of it ends the connections of the port when the drain time is over.
	Admits int `json:",omitzero"`
	// Chains are the HTTPS and TLS Gateway API listeners of the port, the latter
	// by server name; most specific host name first.
	Chains []Chain
	// Stream is where a TCP port sends its connections, or a UDP port its datagrams;
	// nil closes or drops them.
	Stream *Forward
	// Origins are the objects this listener is made of.
	Origins []Ref
}

// Chain is one Gateway API listener with TLS on a shared port, or one server name
// of it, selected by the server name of the TLS handshake. It serves requests from
// its Table, or otherwise connections from its Stream.
type Chain struct {
	// Name is the section name of the Gateway API listener, with "/" and the
	// server name for one of several.
	Name string
	// Hostname is an exact name, a wildcard "*.example.com", or empty for any.
	Hostname string
	// Certificates are CertificateIDs; Envoy picks among them by server name
	// and key type. Never empty for a served chain, unless TLS goes through to
	// the backend as it is.
	Certificates []CertificateID
	// Clients is how certificates of clients are verified; nil is not at all.
	Clients *ClientCheck `json:",omitzero"`
	Table   TableID
	// Admits is how many services the hosts of Table are admitted by at most.
	Admits int `json:",omitzero"`
	// Stream is where connections go; nil closes them.
	Stream *Forward `json:",omitzero"`
}

// ClientCheck verifies the certificates of clients.
type ClientCheck struct {
	// CA are the authorities in PEM, one of which must have signed. Never empty.
	CA []byte
	// Optional lets clients in without a certificate, or with one that is not valid.
	Optional bool `json:",omitzero"`
}

// CertificateID names one certificate and key pair: "namespace/name" of its Secret.
type CertificateID string

// Certificate is a checked pair. Certificates with an unusable pair are never
// part of the model: the listener that wants one has a condition instead.
type Certificate struct {
	ID      CertificateID
	Gateway GatewayID
	// Chain and Key are PEM. Key must never be logged or printed.
	Chain, Key []byte
	Origins    []Ref
}
