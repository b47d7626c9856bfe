package xdsserve

import "time"

// EventKind tells Events apart.
type EventKind string

// Kinds of events.
const (
	// Connected: a proxy opened a stream.
	Connected EventKind = "connected"
	// Disconnected: its stream ended, with Message as the cause, empty when the proxy closed it.
	Disconnected EventKind = "disconnected"
	// Unidentified: a stream ended with Message before the proxy had said who it is.
	Unidentified EventKind = "unidentified"
	// Sent: a response left, with Names, Removed and Bytes.
	Sent EventKind = "sent"
	// Acknowledged: the proxy took a response; Names and Removed are its resources.
	Acknowledged EventKind = "acknowledged"
	// Doubted: the proxy refused a response of several resources with Message.
	// Each goes again alone, and is then acknowledged or refused.
	Doubted EventKind = "doubted"
	// Refused: the proxy refused the one resource in Names with Message, or only
	// removals, which are not tried again.
	Refused EventKind = "refused"
	// Settled: everything published up to Seq that this proxy should have is
	// acknowledged or refused. Removals of listeners count, those of other
	// resources do not: they follow later. It comes after each Publish that names
	// the proxy's group, the next one at the latest.
	Settled EventKind = "settled"
	// WarmTimedOut: Names go out although the clusters that they use did not become ready in time.
	WarmTimedOut EventKind = "warm-timed-out"
	// Unserved: the proxy asks for a Type that is not served and will get no answer.
	Unserved EventKind = "unserved"
)

// Event is something that happened on one proxy's stream.
type Event struct {
	Kind  EventKind
	Proxy string // node id
	Group string
	At    time.Time
	// Seq is the highest sequence number of Publish that the event covers.
	Seq     uint64
	Type    Type
	Names   []string
	Removed []string
	Bytes   int // of the response on the wire, without framing
	Message string
	// Exhausted: the stream ended because the proxy sent more in one request, or
	// listed or asked for more names, than is taken.
	Exhausted bool
}
