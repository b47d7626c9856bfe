package proxy

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
)

// bufferSize is the largest chunk that is forwarded at once: a TLS record.
const bufferSize = 16 << 10

// buffers lends the memory through which bytes pass.
var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// source hands chunks of one connection to take until take returns false, which
// is no error, or the connection ends; its error is then io.EOF or why.
type source interface {
	read(take func(chunk []byte) bool) error
}

// newSource finds the cheapest way to wait for bytes of c.
func newSource(c net.Conn) source {
	base := polled(c)
	if base == nil || base.raw == nil {
		return &blockingSource{from: c}
	}
	s := &pollingSource{from: c, base: base}
	s.poll = s.ready
	return s
}

// polled returns the Conn whose descriptor says that c may be readable.
func polled(c net.Conn) *Conn {
	switch c := c.(type) {
	case *Conn:
		return c
	case *tls.Conn:
		base, _ := c.NetConn().(*Conn)
		return base
	}
	return nil
}

// pollingSource waits without a buffer. It reads inside the callback of
// RawConn.Read, until nothing is left: the poller is edge-triggered, and a wait
// that begins anew would forget an edge that came in between.
type pollingSource struct {
	from io.Reader // base, or the TLS session over it
	base *Conn
	poll func(descriptor uintptr) bool // ready, bound once

	take func([]byte) bool
	err  error
}

func (s *pollingSource) read(take func([]byte) bool) error {
	s.take, s.err = take, nil
	if err := s.base.raw.Read(s.poll); err != nil {
		return err
	}
	return s.err
}

// ready hands over everything that has arrived. It returns true if there is
// nothing more to wait for.
func (s *pollingSource) ready(descriptor uintptr) bool {
	s.base.descriptor, s.base.polling = descriptor, true
	buf := buffers.Get().(*[bufferSize]byte)
	defer func() {
		s.base.polling = false
		buffers.Put(buf)
	}()
	for {
		n, err := s.from.Read(buf[:])
		if n > 0 && !s.take(buf[:n]) {
			return true
		}
		if err == errWouldBlock { //nolint:errorlint // it is never wrapped, and this is the hot path
			return false
		}
		if err != nil {
			s.err = err
			return true
		}
	}
}

// smallSize is what a connection that cannot be polled keeps while it is idle.
const smallSize = 1 << 10

// blockingSource serves any other connection. It reads into a small buffer of
// its own, and into a lent one as long as bytes fill what they are read into.
type blockingSource struct {
	from  io.Reader
	small [smallSize]byte
}

func (s *blockingSource) read(take func([]byte) bool) error {
	for {
		n, err := s.from.Read(s.small[:])
		if n > 0 && !take(s.small[:n]) {
			return nil
		}
		if err == nil && n == len(s.small) {
			more, err := s.readMany(take)
			if err != nil || !more {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
	}
}

// readMany reads into a lent buffer until one read leaves room in it.
func (s *blockingSource) readMany(take func([]byte) bool) (more bool, err error) {
	buf := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buf)
	for {
		n, err := s.from.Read(buf[:])
		if n > 0 && !take(buf[:n]) {
			return false, nil
		}
		if err != nil || n < len(buf) {
			return err == nil, err
		}
	}
}
