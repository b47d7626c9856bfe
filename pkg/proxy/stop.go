package proxy

import (
	"context"
	"fmt"
)

// Stop closes the listeners. Connections go on. It may be called again.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return
	}
	s.stopped = true
	close(s.stopping)
	for ln := range s.listeners {
		_ = ln.Close()
	}
}

// Drain waits until there is no connection, after Stop for good. Its error says
// how many are left if ctx ends first.
func (s *Server) Drain(ctx context.Context) error {
	for {
		s.mu.Lock()
		idle, left := s.idle, len(s.live)
		s.mu.Unlock()
		if idle == nil {
			return nil
		}
		select {
		case <-idle:
		case <-ctx.Done():
			return fmt.Errorf("%d connections are still open: %w", left, context.Cause(ctx))
		}
	}
}

// Force stops, ends the contexts of all handlers, and closes their connections.
// Drain then waits for the handlers.
func (s *Server) Force() {
	s.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forced = true
	for c := range s.live {
		s.cut(c, ErrForced)
	}
}

// cut closes c under its handler. Closing waits for a relay that is reading c, and
// so has a goroutine of its own. s.mu is held.
func (s *Server) cut(c *Conn, cause error) {
	if cancel, ok := s.live[c]; ok {
		cancel(cause)
		s.begin(func() { _ = c.Close() })
	}
}
