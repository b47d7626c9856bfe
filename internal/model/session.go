package model

import "time"

// Session keeps the requests of a client at one endpoint of a backend for as long
// as that is there. The client carries the endpoint, in a cookie or a header that it
// gets with the first answer.
type Session struct {
	// Header is the name of the header, in lower case; empty for a cookie.
	Header string `json:",omitzero"`
	Cookie Cookie `json:",omitzero"`
	// Lifetime ends a session however much it is used, in whole seconds; 0 never does.
	// A header has none.
	Lifetime time.Duration `json:",omitzero"`
}

// Cookie is how a client is asked to keep a session.
type Cookie struct {
	Name, Path string
	// Permanent lets the client keep the cookie for the session's Lifetime, and
	// otherwise until the client ends.
	Permanent bool `json:",omitzero"`
	// Secure forbids to send the cookie in clear.
	Secure bool `json:",omitzero"`
}
