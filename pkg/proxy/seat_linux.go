package proxy

import (
	"cmp"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// seat is a connection on a loop, which alone reads and writes it. It never
// blocks: bytes for which the kernel has no room are kept, and until they are sent
// nothing more is read from the other side.
type seat struct {
	fd      int
	circuit *circuit
	out     *direction // what reads from it

	readable bool // as far as is known
	hangup   bool // an end has come or may have: a short read does not mean that nothing is there
	tail     []byte
	lent     *[tailSize]byte // holds the tail
	shut     bool            // the stream ends after the tail
	off      bool            // it has left the loop
	broken   error           // what a write met

	readBy, writeBy atomic.Int64 // deadlines, in nanoseconds since began; 0 is none
	closed          atomic.Bool  // read and write fail

	mu     sync.Mutex
	timers []*time.Timer
	free   bool // the loop does not have it any more
	gone   bool // so is the descriptor
}

// newSeat has everything looked at once.
func newSeat(fd int, out *direction) *seat {
	return &seat{fd: fd, circuit: out.circuit, out: out, readable: true, hangup: true}
}

// tailSize has room for a chunk within TLS, cut into small records, and an alert.
const tailSize = bufferSize + 1024

// mostTail is far more than a relay keeps on its own: a chunk, last words, and alerts. In
// TLS 1.3 a peer can have us answer without end, by asking for new keys.
const mostTail = 4 * bufferSize

var errUnread = errors.New("the peer asks for answers and does not read them")

var tails = sync.Pool{New: func() any { return new([tailSize]byte) }}

func (s *seat) read(p []byte) (int, error) {
	switch {
	case s.closed.Load():
		return 0, net.ErrClosed
	case passed(&s.readBy):
		return 0, os.ErrDeadlineExceeded
	case !s.readable:
		return 0, errWouldBlock
	}
	n, errno := readNow(s.fd, p)
	switch {
	case errno == unix.EAGAIN:
		s.readable, s.hangup = false, false
		return 0, errWouldBlock
	case errno != 0:
		return 0, os.NewSyscallError("read", errno)
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	// Whatever comes from now on is told anew.
	s.readable = n == len(p) || s.hangup
	return n, nil
}

// began is what deadlines are counted from. Their timers know nothing of a wall clock that
// is set back, and look once.
var began = time.Now()

func passed(deadline *atomic.Int64) bool {
	by := deadline.Load()
	return by != 0 && int64(time.Since(began)) >= by
}

// write takes all of p. What the kernel does not take at once is the tail.
func (s *seat) write(p []byte) (int, error) {
	n := 0
	if s.pending() {
		if len(s.tail)+len(p) > mostTail {
			s.broken = errUnread
		}
		if err := s.usable(); err != nil {
			return 0, err
		}
	} else {
		var err error
		if n, err = s.send(p); err != nil {
			return n, err
		}
	}
	if n < len(p) {
		s.keep(p[n:])
	}
	return len(p), nil
}

func (s *seat) keep(p []byte) {
	if s.lent == nil {
		s.lent = tails.Get().(*[tailSize]byte)
		s.tail = s.lent[:0]
	}
	s.tail = append(s.tail, p...)
}

// send writes what the kernel takes.
func (s *seat) send(p []byte) (sent int, err error) {
	if err := s.usable(); err != nil {
		return 0, err
	}
	for sent < len(p) {
		n, errno := writeNow(s.fd, p[sent:])
		switch errno {
		case 0:
			sent += n
		case unix.EAGAIN:
			return sent, nil
		default:
			s.broken = os.NewSyscallError("write", errno)
			return sent, s.broken
		}
	}
	return sent, nil
}

func (s *seat) usable() error {
	switch {
	case s.closed.Load():
		return net.ErrClosed
	case s.broken != nil:
		return s.broken
	case passed(&s.writeBy):
		s.broken = os.ErrDeadlineExceeded
	}
	return s.broken
}

// pending reports whether bytes wait for room in the kernel.
func (s *seat) pending() bool { return len(s.tail) > 0 }

// flush sends of the tail what the kernel takes. It drops the tail if that fails.
func (s *seat) flush() error {
	n, err := s.send(s.tail)
	s.tail = s.tail[n:]
	if err != nil || len(s.tail) == 0 {
		s.drop()
	}
	if err == nil && s.shut && !s.pending() {
		_ = unix.Shutdown(s.fd, unix.SHUT_WR)
	}
	return err
}

func (s *seat) drop() {
	if s.lent != nil {
		tails.Put(s.lent)
	}
	s.tail, s.lent = nil, nil
}

// closeWrite ends the stream after the tail.
func (s *seat) closeWrite() error {
	s.shut = true
	if s.pending() {
		return nil
	}
	return os.NewSyscallError("shutdown", unix.Shutdown(s.fd, unix.SHUT_WR))
}

func (s *seat) setReadDeadline(t time.Time)  { s.setDeadline(&s.readBy, t) }
func (s *seat) setWriteDeadline(t time.Time) { s.setDeadline(&s.writeBy, t) }

func (s *seat) setDeadline(which *atomic.Int64, t time.Time) {
	if t.IsZero() {
		which.Store(0)
		return
	}
	which.Store(cmp.Or(int64(t.Sub(began)), -1))
	s.mu.Lock()
	defer s.mu.Unlock()
	switch wait := time.Until(t); {
	case s.free:
	case wait <= 0:
		s.circuit.look()
	default:
		s.timers = append(s.timers, time.AfterFunc(wait, s.wake))
	}
}

func (s *seat) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.free {
		s.circuit.look()
	}
}

// close closes the descriptor. While the loop has it, the loop is told instead, and
// the relay closes again.
func (s *seat) close() error {
	s.closed.Store(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.free {
		s.circuit.look()
		return nil
	}
	if s.gone {
		return net.ErrClosed
	}
	s.gone = true
	return os.NewSyscallError("close", unix.Close(s.fd))
}

func (s *seat) control(f func(descriptor uintptr)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.gone {
		f(uintptr(s.fd))
	}
	return !s.gone
}

// release ends the loop's part.
func (s *seat) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.timers {
		t.Stop()
	}
	s.timers, s.free, s.off = nil, true, true
	s.drop()
}
