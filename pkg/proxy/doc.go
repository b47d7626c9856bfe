// Package proxy accepts TCP connections within limits and carries bytes between
// two connections until either ends. It knows no protocol.
//
// A Server calls a handler for each connection. Connections that have not yet
// said what they want have a budget of their own, so that silent sockets starve
// nobody; the owner drives the shutdown in stages: Stop, Drain, Force.
//
// A Relay copies both directions independently, shows every chunk to an
// observer before it is forwarded, and lets its owner end the session between
// two chunks with last words of its own. On Linux a few loops in epoll carry the
// bytes of all relays whose connections they can read; elsewhere, and for other
// connections, each direction has a goroutine. Nobody can tell which from outside.
//
// Handlers, Relay.Run, Server.Serve and Server.Drain block; nothing here logs.
package proxy
