package pgwire

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// AuthRequest is what a backend asks of a client that logs in: the code of an
// Authentication message.
type AuthRequest uint32

// Requests that PostgreSQL knows. AuthOk asks nothing more.
const (
	AuthOk           AuthRequest = 0
	AuthKerberosV5   AuthRequest = 2
	AuthCleartext    AuthRequest = 3
	AuthMD5          AuthRequest = 5
	AuthGSS          AuthRequest = 7
	AuthGSSContinue  AuthRequest = 8
	AuthSSPI         AuthRequest = 9
	AuthSASL         AuthRequest = 10
	AuthSASLContinue AuthRequest = 11
	AuthSASLFinal    AuthRequest = 12
)

// Login is what both sides said until the first ReadyForQuery.
type Login struct {
	Requests   []AuthRequest // in order, repeated ones once, at most 16
	Mechanisms []string      // SASL's, in the backend's order, at most 16 and as far as 512 bytes go
	Answers    int           // messages of the client that answered requests
	Mechanism  string        // the one the client chose
	Binding    byte          // its word on channel binding, first of its answer: 'p' uses it, 'y' would, 'n' cannot; 0 unknown
	Negotiated Version       // what NegotiateProtocolVersion offers; 0 if there was none
	Key        Key           // of BackendKeyData; zero if there was none or it is malformed
	Ready      bool          // the first ReadyForQuery has come
}

// Asked tells whether the backend sent such a request.
func (l Login) Asked(r AuthRequest) bool { return slices.Contains(l.Requests, r) }

const noRequest AuthRequest = 1<<32 - 1

// last is the request that the client is to answer.
func (l *Login) last() AuthRequest {
	if len(l.Requests) == 0 {
		return noRequest
	}
	return l.Requests[len(l.Requests)-1]
}

// maxSmall and maxRequests bound what a backend can make a Tracker keep.
const (
	maxSmall    = 512
	maxRequests = 16
)

// collect keeps the payload of a message of the login until it is complete.
func (t *Tracker) collect(p part) {
	if t.login.Ready {
		return
	}
	s := &t.server
	room := maxSmall - len(s.small)
	s.small = append(s.small, p.payload[:min(room, len(p.payload))]...)
	if p.last {
		t.login.message(p.kind, s.small)
		s.small = s.small[:0]
	}
}

func (l *Login) message(kind byte, payload []byte) {
	switch {
	case kind == 'K':
		l.Key, _ = keyOf(payload)
	case len(payload) < 4:
		return
	case kind == 'v':
		l.Negotiated = Version(binary.BigEndian.Uint32(payload))
	default:
		l.request(AuthRequest(binary.BigEndian.Uint32(payload)), payload[4:])
	}
}

func (l *Login) request(r AuthRequest, rest []byte) {
	if len(l.Requests) < maxRequests && l.last() != r {
		l.Requests = append(l.Requests, r)
	}
	if r != AuthSASL || l.Mechanisms != nil {
		return
	}
	for len(l.Mechanisms) < maxRequests {
		name, after, found := bytes.Cut(rest, []byte{0})
		if !found || len(name) == 0 {
			return
		}
		l.Mechanisms = append(l.Mechanisms, string(name))
		rest = after
	}
}

// choose reads the begin of a SASLInitialResponse.
func (l *Login) choose(answer []byte) {
	name, after, found := bytes.Cut(answer, []byte{0})
	if !found {
		return
	}
	l.Mechanism = string(name)
	if len(after) > 4 {
		l.Binding = after[4]
	}
}
