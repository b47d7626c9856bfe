package proxy

import (
	"context"
	"errors"
	"net"
	"time"
)

// The waits after errors of a listener, each twice the one before.
const (
	firstWait = 5 * time.Millisecond
	lastWait  = time.Second
)

// Serve accepts from ln, and closes it in the end. It blocks until Stop is called
// or ctx ends, which only stops accepting: connections go on. Errors of the
// listener, such as too many open files, are waited out. It returns nil, or the
// error of a listener that somebody else closed. A Server may serve several
// listeners. The values of ctx are in the handlers' contexts.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	if !s.add(ln) {
		return ln.Close()
	}
	defer s.remove(ln)
	stop := context.AfterFunc(ctx, func() { _ = ln.Close() })
	defer stop()
	wait := time.Duration(0)
	for {
		c, err := ln.Accept()
		switch {
		case err == nil:
			wait = 0
			s.enter(ctx, Wrap(c))
		case errors.Is(err, net.ErrClosed):
			if ctx.Err() != nil || s.isStopped() {
				return nil
			}
			return err
		default:
			wait = min(max(2*wait, firstWait), lastWait)
			s.waitOut(ctx, err, wait)
		}
	}
}

// waitOut tells of an accept error and waits, unless accepting is to end.
func (s *Server) waitOut(ctx context.Context, err error, wait time.Duration) {
	if s.watch.AcceptFailed != nil {
		s.watch.AcceptFailed(err, wait)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-s.stopping:
	}
}

func (s *Server) add(ln net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopped {
		s.listeners[ln] = struct{}{}
	}
	return !s.stopped
}

func (s *Server) remove(ln net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = ln.Close()
	delete(s.listeners, ln)
}

func (s *Server) isStopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped
}
