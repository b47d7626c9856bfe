package proxy

import (
	"context"
	"errors"
	"net"
	"runtime/debug"
	"sync"
	"time"
)

// Handler serves one connection, which is closed when it returns. It calls
// c.Admit once it knows what the peer wants. Its context ends, with ErrForced or
// ErrEvicted as the cause, when the connection is closed under it.
type Handler func(ctx context.Context, c *Conn) error

// Why the context of a handler ended.
var (
	ErrForced  = errors.New("closed by a forced shutdown")
	ErrEvicted = errors.New("closed before its startup was over, to make room for another connection")
)

// Watch is told what a Server does; nil functions are not called. They are called
// from several goroutines, and must not block for long.
type Watch struct {
	// AcceptFailed tells of an error of a listener, and how long the Server waits
	// until it tries again.
	AcceptFailed func(err error, wait time.Duration)
	// Refused tells of a connection that was closed at once, because
	// Limits.Connections and Limits.Extra were reached.
	Refused func(peer net.Addr)
	// Evicted tells of a pending connection that lost its place to another.
	Evicted func(peer net.Addr)
	// Done tells what a handler returned; a panic is a *PanicError.
	Done func(c *Conn, err error)
}

// Server calls a handler for each accepted connection.
type Server struct {
	handler Handler
	watch   Watch
	room    chan struct{} // holds a token once a pending connection has left

	mu        sync.Mutex
	ledger    ledger[*Conn]
	live      map[*Conn]context.CancelCauseFunc
	busy      int           // goroutines of live, and those that close connections
	idle      chan struct{} // closed when busy becomes 0; nil while it is
	listeners map[net.Listener]struct{}
	stopping  chan struct{} // closed by Stop
	stopped   bool
	forced    bool
}

// NewServer returns a server that Serve starts.
func NewServer(h Handler, l Limits, w Watch) *Server {
	return &Server{
		handler: h, watch: w, room: make(chan struct{}, 1),
		ledger:    ledger[*Conn]{limits: l.withDefaults()},
		live:      make(map[*Conn]context.CancelCauseFunc),
		listeners: make(map[net.Listener]struct{}),
		stopping:  make(chan struct{}),
	}
}

// Counts are the connections of a Server at one moment.
type Counts struct {
	Admitted int // their handlers were admitted
	Silent   int // pending, and have sent nothing that was read
	Spoken   int // pending, and have sent something
}

// Counts returns how many connections there are.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &s.ledger
	return Counts{Admitted: l.admitted, Silent: l.pending[silent].Len(), Spoken: l.pending[spoken].Len()}
}

// ticket ties a connection to its place in a Server.
type ticket struct {
	server *Server
	entry  *entry[*Conn]
}

func (t *ticket) speak() {
	t.server.mu.Lock()
	defer t.server.mu.Unlock()
	t.server.ledger.speak(t.entry)
}

func (t *ticket) admit() bool {
	t.server.mu.Lock()
	defer t.server.mu.Unlock()
	yes := t.server.ledger.admit(t.entry)
	if yes {
		t.server.makeRoom()
	}
	return yes
}

// makeRoom wakes an arrival that waits. With several listeners, another one that
// waits has the timer of waitForRoom.
func (s *Server) makeRoom() {
	select {
	case s.room <- struct{}{}:
	default:
	}
}

// enter gives c its place and its goroutine, or closes it. It waits for room.
func (s *Server) enter(ctx context.Context, c *Conn) {
	for {
		answer, ok := s.arrive(ctx, c)
		if evicted := answer.evict; evicted != nil {
			s.told(s.watch.Evicted, evicted.conn)
		}
		switch {
		case ok:
			return
		case answer.refuse:
			_ = c.Close()
			s.told(s.watch.Refused, c)
			return
		case !s.waitForRoom(ctx, answer.wait):
			_ = c.Close()
			return
		}
	}
}

func (s *Server) told(who func(net.Addr), c *Conn) {
	if who != nil {
		who(c.RemoteAddr())
	}
}

// arrive asks the ledger once, and starts the handler if c has entered.
func (s *Server) arrive(ctx context.Context, c *Conn) (arrival[*Conn], bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := s.ledger.arrive(c, time.Now(), (*Conn).heard)
	if evicted := answer.evict; evicted != nil {
		s.cut(evicted.conn, ErrEvicted)
	}
	if answer.entry == nil {
		return answer, false
	}
	if s.forced {
		s.ledger.leave(answer.entry)
		return arrival[*Conn]{refuse: true}, false
	}
	c.ticket, c.silent = &ticket{server: s, entry: answer.entry}, true
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	s.live[c] = cancel
	s.begin(func() { s.serve(own, c) })
	return answer, true
}

// waitForRoom reports false if accepting was ended meanwhile.
func (s *Server) waitForRoom(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.room:
		return true
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-s.stopping:
	}
	return false
}

// begin starts a goroutine that Drain waits for. s.mu is held.
func (s *Server) begin(f func()) {
	if s.busy++; s.idle == nil {
		s.idle = make(chan struct{})
	}
	go func() {
		defer s.ended()
		f()
	}()
}

func (s *Server) ended() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy--; s.busy == 0 {
		close(s.idle)
		s.idle = nil
	}
}

// serve is the goroutine of one connection.
func (s *Server) serve(ctx context.Context, c *Conn) {
	defer s.left(c)
	err := s.handle(ctx, c)
	_ = c.Close()
	if s.watch.Done != nil {
		s.watch.Done(c, err)
	}
}

func (s *Server) handle(ctx context.Context, c *Conn) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return s.handler(ctx, c)
}

// left takes c out of the books.
func (s *Server) left(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ledger.leave(c.ticket.entry)
	s.makeRoom()
	s.live[c](nil)
	delete(s.live, c)
}
