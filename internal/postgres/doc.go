// Package postgres routes PostgreSQL sessions: it accepts connections, lets the core
// (internal/postgres/session) decide what becomes of each, and carries its bytes to the
// server unchanged.
//
// Every connection has one handler, which waits for the client, the dial, and then the
// relay. What a session is doing is known from its bytes (pkg/pgwire), so that a router
// that goes away ends each session at the moment nothing is under way in it.
package postgres
