// Package pgwire turns the bytes of PostgreSQL's protocol 3 into what a proxy has to
// know of them, and the few messages that a proxy says itself into bytes.
//
// A Packet is what a client sends before it is authenticated; Read takes exactly one
// from a stream. A Tracker follows both directions of the session that comes after it,
// from chunks cut anywhere, and knows who is to speak next: whether the backend is idle,
// in a transaction or in COPY, and how the login went. Settings reads the command line
// that the startup parameter "options" is.
//
// Names and values are raw bytes in strings: nothing is decoded, checked for an
// encoding, folded or trimmed. What goes on as it came is never built anew: a Tracker
// only looks, and keeps no payload but the few bytes it answers with.
//
// Only Read blocks, as long as its reader does. Nothing here opens a socket, reads a
// clock or logs; what PostgreSQL means by a message is said in
// https://www.postgresql.org/docs/current/protocol.html.
package pgwire
