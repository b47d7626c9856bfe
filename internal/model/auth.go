package model

// Auth asks a service whether a request may pass. Without an answer none does.
type Auth struct {
	Cluster ClusterID
	// GRPC tells that the service speaks Envoy's ext_authz protocol, and otherwise HTTP.
	GRPC bool `json:",omitzero"`
	// Path goes before the path of the request in what a service that speaks HTTP is asked.
	Path string `json:",omitzero"`
	// Ask are the headers of the request that the service is sent, in lower case,
	// besides those that it always is. None are all for GRPC, and no further ones otherwise.
	Ask []string `json:",omitzero"`
	// Take are the headers of the answer that the backend is sent, in lower case; none
	// are all. With GRPC the answer says itself which.
	Take []string `json:",omitzero"`
	// Body is how many bytes of a request's body the service is sent, and how long it
	// may be; 0 sends none and bounds nothing.
	Body uint32 `json:",omitzero"`
}

// MaxAuth is how many services a request can be subject to, those of its listener
// apart.
const MaxAuth = 4

// MaxAdmit is how many services a listener can ask, as Gateway API has it.
const MaxAdmit = 16
