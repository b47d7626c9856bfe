// Package session decides what becomes of a PostgreSQL session: it turns a startup
// message, and what the TLS handshake said, into a route and the message that the
// server gets, or into a refusal. It has no socket, clock or log.
//
// A login is user.deployment[.pool], read from the right. The same route can be named by
// the setting gatehouse.deployment in the startup parameter "options" (with
// gatehouse.pooled), and by SNI. Everything else of the message passes as it came.
package session
