package model

import "strings"

// Tracing sends a span of each sampled HTTP request to a collector, by OTLP over gRPC.
type Tracing struct {
	Collector ClusterID
	Headers   []Header `json:",omitzero"` // sent along
	Service   string   // the name of the service in the traces
	Span      string   `json:",omitzero"` // the name of each span; empty leaves it to the proxy
	// Millionths is how many of a million new traces are sampled.
	Millionths uint32
	// Parents tells that a request which is part of a trace is sampled as the
	// trace is, and not as a new one.
	Parents    bool
	Attributes []SpanAttribute `json:",omitzero"`
	// Origins are the objects that ask for it.
	Origins []Ref
}

// SpanAttribute is one attribute that is set on each span.
type SpanAttribute struct {
	Name   string
	Source AttributeSource
	// Value is a text, the name of a header, or a key of OpenTelemetry's semantic
	// conventions, by Source.
	Value string
}

// AttributeSource is where the value of an attribute comes from.
type AttributeSource string

// The sources of attributes. What a request does not have is left out.
const (
	FromText     AttributeSource = "Text"
	FromHeader   AttributeSource = "Header" // of the request, or else of the response
	FromStandard AttributeSource = "Standard"
)

// StandardAttributes are the keys, besides those of headers, that a SpanAttribute
// may have: those of Gateway API's attribute dictionary (GEP-5253) that are known
// of a request.
var StandardAttributes = []string{
	"client.address", "client.port",
	"http.request.method", "http.request.method_original", "http.response.status_code",
	"network.peer.address", "network.peer.port", "network.protocol.name", "network.protocol.version", "network.transport", "network.type",
	"server.port",
	"url.full", "url.path", "url.query", "url.scheme", "user_agent.original",
}

// HeaderOfAttribute is the name of the header that the key of an attribute is for,
// "http.request.header.NAME" or "http.response.header.NAME", or empty.
func HeaderOfAttribute(key string) string {
	for _, prefix := range []string{"http.request.header.", "http.response.header."} {
		if name, is := strings.CutPrefix(key, prefix); is {
			return name
		}
	}
	return ""
}
