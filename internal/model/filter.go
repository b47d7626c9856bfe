package model

import "time"

// Filters change what passes, or answer in place of a backend. New fields leave
// the encoding of values without them as it is: the names of routes derive from it.
type Filters struct {
	Request, Response HeaderEdit
	Mirrors           []Mirror `json:",omitzero"`
	// CORS answers preflights, and tells scripts of other origins what they may read.
	CORS *CORS `json:",omitzero"`
	// Auth are services that are asked one after the other, each of which can refuse.
	Auth []Auth `json:",omitzero"`
}

// HeaderEdit is applied in the order remove, set, add. Names are lower case.
type HeaderEdit struct {
	Set, Add []Header
	Remove   []string
}

// Header is one name and value.
type Header struct{ Name, Value string }

// IsZero reports whether the edit changes nothing.
func (e HeaderEdit) IsZero() bool { return len(e.Set) == 0 && len(e.Add) == 0 && len(e.Remove) == 0 }

// Mirror sends copies of requests to another backend, whose answers nobody waits for.
type Mirror struct {
	Cluster ClusterID
	// Millionths is how many of a million requests are copied, 1 to 1,000,000.
	Millionths uint32
}

// CORS is the policy for requests that scripts of other origins send.
type CORS struct {
	// Origins are "scheme://host" or "scheme://host:port" in lower case, without
	// the scheme's well-known port; "*" inside the host stands for any text of it.
	// "*" alone is every origin.
	Origins []string
	// Methods, Headers and Expose are what is allowed; "*" alone is everything.
	Methods, Headers, Expose []string
	// Credentials tells that scripts may send cookies and the like.
	Credentials bool
	// MaxAge is how long the answer to a preflight may be kept, in whole seconds.
	MaxAge time.Duration
}

// Retry says which answers of a backend are not passed on but tried again. A
// connection that fails is one of them.
type Retry struct {
	// Attempts is how often a request is tried again; 0 is never, not even where
	// no backend has begun to process it.
	Attempts uint32
	Codes    []uint32 // statuses that are tried again, in order
	// Backoff is the base of the pause before a try; 0 leaves it to the proxy.
	Backoff time.Duration
}
