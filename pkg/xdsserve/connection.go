package xdsserve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	discovery_v3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

type deltaStream = discovery_v3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer

// connection runs a session over a stream.
type connection struct {
	server   *Server
	stream   deltaStream
	session  *session
	requests chan *discovery_v3.DeltaDiscoveryRequest
	failed   chan error    // the reader's last word
	roused   chan struct{} // holds one token when there is news

	changed map[key]struct{} // guarded by Server.mu; drained under its read lock by run alone
	again   []key            // likewise
}

// DeltaAggregatedResources serves one proxy until it goes, or the Server closes.
//
// Three goroutines: this one only waits, so that it can return when the Server
// closes, which is what ends a Send that a proxy blocks; run, which decides and
// sends; and the reader, which ends when this one has returned. Close waits for
// all of them.
func (s *Server) DeltaAggregatedResources(stream deltaStream) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.running.Done()
	c := &connection{
		server: s, stream: stream,
		requests: make(chan *discovery_v3.DeltaDiscoveryRequest),
		failed:   make(chan error, 1), roused: make(chan struct{}, 1),
		changed: map[key]struct{}{},
	}
	done := make(chan error, 1)
	s.running.Go(func() { c.failed <- c.read(stream.Context()) })
	s.running.Go(func() { done <- c.run(stream.Context()) })
	select {
	case err := <-done:
		return err
	case <-s.closing.Done():
		return errClosing
	}
}

// read passes requests on until the stream ends.
func (c *connection) read(ctx context.Context) error {
	for {
		req, err := c.stream.Recv()
		if err != nil {
			return err
		}
		select {
		case c.requests <- req:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// run serves the stream. A panic ends the stream, not the process.
func (c *connection) run(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = status.Errorf(codes.Internal, "xdsserve: panic: %v", p)
			c.leave(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
			return
		}
		if c.server.closing.Err() != nil {
			err = errClosing
		}
		c.leave(err)
	}()
	select {
	case req := <-c.requests:
		if err := c.join(req); err != nil {
			return err
		}
		return c.loop(ctx, req)
	case err := <-c.failed:
		return closedBy(err)
	case <-ctx.Done():
		return closedBy(<-c.failed)
	}
}

// loop takes steps. What makes it step:
//  1. requests from the proxy, as many as wait
//  2. news from Publish or Retry
//  3. the session's own deadline: a grace or a wait for warm clusters ends
func (c *connection) loop(ctx context.Context, req *discovery_v3.DeltaDiscoveryRequest) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		next, err := c.step(req)
		if err != nil {
			return err
		}
		timer.Reset(next)
		req = nil
		select {
		case req = <-c.requests:
		case <-c.roused:
		case <-timer.C:
		case err := <-c.failed:
			return closedBy(err)
		case <-ctx.Done():
			return closedBy(<-c.failed)
		}
	}
}

// step feeds the session what there is and carries out its actions. It returns
// how long the session may rest.
func (c *connection) step(req *discovery_v3.DeltaDiscoveryRequest) (time.Duration, error) {
	actions, next, err := c.decide(req)
	for _, a := range actions {
		if a.response != nil {
			if err := c.stream.Send(a.response); err != nil {
				return 0, fmt.Errorf("send to proxy %q: %w", c.session.proxy, err)
			}
		}
		a.event.At = time.Now()
		c.server.opts.Observe(a.event)
	}
	if err != nil {
		return 0, status.Error(codes.ResourceExhausted, err.Error())
	}
	if next.IsZero() {
		return time.Hour, nil
	}
	return time.Until(next), nil
}

func (c *connection) decide(req *discovery_v3.DeltaDiscoveryRequest) ([]action, time.Time, error) {
	s := c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	c.server.mu.RLock()
	defer c.server.mu.RUnlock()
	s.begin(time.Now())
	if len(c.changed) > 0 {
		for k := range c.changed {
			s.changed(k)
		}
		c.changed = map[key]struct{}{} // fresh: to go through a map takes as long as it ever was
	}
	err := c.receiveAll(req)
	for _, k := range c.again {
		s.again(k)
	}
	c.again = nil
	if err == nil {
		s.pump()
	}
	return s.take(), s.next, err
}

// receiveAll takes a request and up to 100 more that wait, so that one step
// answers them together.
func (c *connection) receiveAll(req *discovery_v3.DeltaDiscoveryRequest) error {
	for range 100 {
		if req == nil {
			return nil
		}
		if err := c.session.receive(req); err != nil {
			return err
		}
		select {
		case req = <-c.requests:
		default:
			req = nil
		}
	}
	return nil
}

// join makes the session once the proxy has said who it is.
func (c *connection) join(req *discovery_v3.DeltaDiscoveryRequest) error {
	node := req.GetNode()
	if node.GetId() == "" {
		return status.Error(codes.InvalidArgument, "the first request of the stream has no node.id: set node.id in the bootstrap")
	}
	s := c.server
	group := s.opts.Group(node.GetId(), node.GetCluster())
	s.mu.Lock()
	m := s.memories[identity{group, node.GetId()}]
	delete(s.memories, identity{group, node.GetId()})
	c.session = newSession(node.GetId(), group, &s.opts, &s.catalog, m, time.Now())
	if s.streams[group] == nil {
		s.streams[group] = map[*connection]struct{}{}
	}
	s.streams[group][c] = struct{}{}
	s.mu.Unlock()
	s.opts.Observe(Event{Kind: Connected, Proxy: node.GetId(), Group: group, At: time.Now()})
	return nil
}

// leave takes the stream out of the Server.
func (c *connection) leave(cause error) {
	if c.session == nil {
		c.leaveUnidentified(cause)
		return
	}
	s, proxy, group := c.server, c.session.proxy, c.session.group
	c.session.mu.Lock()
	m := c.session.remember()
	c.session.mu.Unlock()
	s.mu.Lock()
	delete(s.streams[group], c)
	if len(s.streams[group]) == 0 {
		delete(s.streams, group)
	}
	s.memorize(identity{group, proxy}, m)
	s.mu.Unlock()
	s.opts.Observe(ended(Event{Kind: Disconnected, Proxy: proxy, Group: group}, cause))
}

// leaveUnidentified reports a stream that failed with its first request, which is
// the largest of a proxy that connects again.
func (c *connection) leaveUnidentified(cause error) {
	if cause != nil && c.server.closing.Err() == nil {
		c.server.opts.Observe(ended(Event{Kind: Unidentified}, cause))
	}
}

func ended(e Event, cause error) Event {
	e.At = time.Now()
	if cause != nil {
		e.Message, e.Exhausted = cause.Error(), status.Code(cause) == codes.ResourceExhausted
	}
	return e
}

func (c *connection) rouse() {
	select {
	case c.roused <- struct{}{}:
	default:
	}
}

// closedBy returns nil when the proxy closed the stream, or its connection. The
// reader's word counts: a request that cannot be taken also ends the stream's context.
func closedBy(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) || status.Code(err) == codes.Canceled {
		return nil
	}
	return err
}
