package pgwire

import (
	"errors"
	"fmt"
	"sync"
)

// ErrSealed is what Frontend returns after Seal: the chunk must not be forwarded.
var ErrSealed = errors.New("the session is closing: nothing more is forwarded")

// CopyMode is the COPY that a session is in.
type CopyMode uint8

// Modes of COPY.
const (
	NoCopy   CopyMode = iota
	CopyIn            // the client sends rows
	CopyOut           // the backend sends rows
	CopyBoth          // both do: replication
)

// Tracker follows one session, from the backend's first byte after the startup packet.
// The zero value is ready for use; it must not be copied. Its methods may be called from
// several goroutines.
//
// It trusts in order, not in time: Frontend gets every chunk before that is written to
// the backend, so that no answer can be seen before its question. Backend gets the
// chunks in their order, before or after they are written to the client; after, if Idle
// is to mean that the client has got everything.
//
// Neither keeps a chunk nor allocates once the session is ready, and a message costs the
// same whatever its length.
type Tracker struct {
	mu     sync.Mutex
	client frontend
	server backend
	queue  pending
	login  Login
	sealed bool
	err    error
}

// Frontend follows bytes of the client. It returns ErrSealed after Seal has said yes,
// and nil otherwise.
func (t *Tracker) Frontend(chunk []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sealed {
		return ErrSealed
	}
	t.follow(chunk)
	return nil
}

func (t *Tracker) follow(chunk []byte) {
	for len(chunk) > 0 && t.err == nil {
		if t.client.frames.atBoundary() {
			if chunk = skip(chunk, 'd', 'd'); len(chunk) == 0 {
				return
			}
		}
		p, rest, ok := t.client.frames.next(chunk)
		if !ok {
			t.lose("client", t.client.frames)
			return
		}
		chunk = rest
		if p.kind != 0 {
			t.frontendPart(p)
		}
	}
}

// Backend follows bytes of the backend.
func (t *Tracker) Backend(chunk []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(chunk) > 0 && t.err == nil {
		if t.server.frames.atBoundary() {
			rest := skip(chunk, 'D', 'd')
			if len(rest) < len(chunk) {
				t.replied()
			}
			if chunk = rest; len(chunk) == 0 {
				return
			}
		}
		p, rest, ok := t.server.frames.next(chunk)
		if !ok {
			t.lose("backend", t.server.frames)
			return
		}
		chunk = rest
		if p.kind != 0 {
			t.backendPart(p)
		}
	}
}

// lose gives up: without a length there is no next message.
func (t *Tracker) lose(who string, f framer) {
	t.err = &MalformedError{
		What: fmt.Sprintf("message %q of the %s", f.header[0], who), Offset: 1,
		Problem: "its length is impossible",
	}
}

// Err is a MalformedError once a direction has no message boundaries any more. The
// Tracker then follows nothing, and the session is never idle.
func (t *Tracker) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// Idle tells whether nothing is under way: the backend has answered everything, outside
// a transaction, and every message that was forwarded is complete and answered. Messages
// that a backend sends on its own (notices, notifications, parameters) change nothing.
//
// Where the answers do not tell, it says no. That is so after a COPY FROM STDIN by
// extended query that failed while a Sync was under way, until the next command, and
// after a pipeline of more than 16 changes between Sync and Query in one go.
func (t *Tracker) Idle() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.idle()
}

func (t *Tracker) idle() bool {
	return t.err == nil && t.login.Ready &&
		t.server.status == 'I' && !t.server.replying && t.server.frames.atBoundary() &&
		t.client.unsynced == 0 && !t.client.terminated && t.client.frames.atBoundary() &&
		!t.queue.owes()
}

// BetweenMessages tells whether the backend's last message is complete, so that another
// one can follow it on the way to the client.
func (t *Tracker) BetweenMessages() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err == nil && t.server.frames.atBoundary()
}

// Busy tells whether the backend has something to do that a cancel would end: what the
// client asked for is not answered yet, and the client has not said goodbye. A session
// that waits in a transaction, or that logs in, is neither busy nor idle. Where the
// answers do not tell, it says yes.
func (t *Tracker) Busy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err == nil && t.login.Ready && !t.client.terminated &&
		(t.server.replying || t.client.unsynced > 0 || t.queue.owes())
}

// Seal ends forwarding if the session is idle, in one step, and tells whether it did:
// what the client sends afterwards has certainly not reached the backend.
func (t *Tracker) Seal() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sealed = t.sealed || t.idle()
	return t.sealed
}

// Status is that of the last ReadyForQuery: 'I' outside a transaction, 'T' in one, 'E'
// in a failed one; 0 before the first.
func (t *Tracker) Status() byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.server.status
}

// InTransaction tells whether the last ReadyForQuery was inside a transaction, failed or
// not.
func (t *Tracker) InTransaction() bool {
	status := t.Status()
	return status == 'T' || status == 'E'
}

// Copy is the COPY that the backend is in.
func (t *Tracker) Copy() CopyMode {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.server.copying
}

// Terminated tells whether the client has said goodbye.
func (t *Tracker) Terminated() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.client.terminated
}

// LastError is the backend's last ErrorResponse, the zero value if there was none.
func (t *Tracker) LastError() ServerError {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.server.lastError.serverError()
}

// Login is what is known of the login so far. Its slices must not be changed.
func (t *Tracker) Login() Login {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.login
}
