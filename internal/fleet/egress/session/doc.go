// Package session turns what clients of a super-proxy ask for into leases that are kept:
// one for each session, shared by its connections for as long as they come, and one for
// each connection without a session.
//
// It asks the lease API and blocks until that has answered, or the caller's context ends.
// A lease is renewed at half of its life while somebody uses it, and released when nobody
// does any more; what goes by it ends when it does. Who comes to a session has its lease
// renewed too, at most once a second, to learn whether somebody reported the proxy: then
// the session goes on by another lease, and what is open by this one.
package session
