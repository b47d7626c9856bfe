package observe

import "time"

// What happened to an object.
type What string

// What may happen to an object, as a live view says it.
const (
	Changed  What = "changed"
	Accepted What = "accepted" // it was rejected before
	Refused  What = "rejected"
	Deleted  What = "deleted"
	Excluded What = "excluded"
	Warned   What = "warning"
)

// LiveEvent is one line of the live view: one object, what happened to it, and
// how far that has come.
type LiveEvent struct {
	At   time.Time
	Kind string // "HTTPRoute"
	Name string // "namespace/name"
	What What
	// Acked and Total count the proxies that need the change; Total 0 means that
	// none does.
	Acked, Total int
	// Took is from change observed to acknowledged by all; 0 while it is not.
	Took time.Duration
	// Message is why, or empty.
	Message string
	// Where is the file and line, or empty.
	Where string
}

// Start is what the live view opens with.
type Start struct {
	Version  string
	Envoy    string // version
	EnvoyHow string // how it was found: "--envoy", "cache"
	Admin    string // URL
	Metrics  string // URL
	Paths    []string
}

// Loaded is the outcome of the first batch of objects.
type Loaded struct {
	Files    int
	Objects  int
	ByState  map[string]int // verdict state to number
	Problems []Problem      // worst first
}

// Problem is one object that is not serving.
type Problem struct {
	Kind, Name string
	State      string // a verdict state
	Field      string
	Message    string
	Where      string // file and line
	Serves     string // what stays in force instead
}

// Ready says what is served once every accepted listener is acknowledged.
type Ready struct {
	Took     time.Duration // since the start
	Gateways []Served
}

// Served is one Gateway and where it can be reached.
type Served struct {
	Name      string
	Addresses []string // "http://127.0.0.1:8080", "tcp 127.0.0.1:9000"
}

// Live shows a running instance to whoever started it. Its methods may be called
// from any goroutine and do not block for long.
type Live interface {
	Started(Start)
	Loaded(Loaded)
	Ready(Ready)
	Event(LiveEvent)
	// Stopping says why the instance ends and what it still waits for.
	Stopping(why string)
}
