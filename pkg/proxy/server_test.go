package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// running is a server on loopback; its handlers are up to the test.
type running struct {
	*Server
	address string
	served  chan error
}

func start(t testing.TB, h Handler, l Limits, w Watch) *running {
	t.Helper()
	ln := listen(t)
	s := &running{Server: NewServer(h, l, w), address: ln.Addr().String(), served: make(chan error, 1)}
	go func() { s.served <- s.Serve(t.Context(), ln) }()
	t.Cleanup(func() {
		s.Force()
		if err := s.Drain(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		if err := <-s.served; err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *running) dial(t testing.TB) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(patience))
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// echo reads one byte, says + or - for whether the connection was admitted, and
// echoes if it was.
func echo(_ context.Context, c *Conn) error {
	var one [1]byte
	if _, err := io.ReadFull(c, one[:]); err != nil {
		return err
	}
	if !c.Admit() {
		_, err := io.WriteString(c, "-")
		return errors.Join(err, errors.New("full"))
	}
	if _, err := io.WriteString(c, "+"); err != nil {
		return err
	}
	_, err := io.Copy(c, c)
	return err
}

func TestLimits(t *testing.T) {
	var refused atomic.Int32
	l := Limits{Connections: 2, Extra: 3, SilentGrace: time.Hour, SpokenGrace: time.Hour}
	s := start(t, echo, l, Watch{Refused: func(net.Addr) { refused.Add(1) }})
	for range l.Connections {
		c := s.dial(t)
		send(t, c, "?")
		expect(t, c, "+")
	}
	var extra []net.Conn
	for range l.Extra {
		extra = append(extra, s.dial(t))
	}
	eventually(t, "the extra ones are there", func() bool { return s.Counts() == Counts{Admitted: 2, Silent: 3} })
	_, _ = io.ReadAll(s.dial(t))
	eventually(t, "one connection was refused", func() bool { return refused.Load() == 1 })
	for _, c := range extra {
		send(t, c, "?")
		expect(t, c, "-")
		expectEnd(t, c)
	}
}

// TestPlacesAreGivenBack: as many connections as there are places, many times over.
func TestPlacesAreGivenBack(t *testing.T) {
	s := start(t, echo, Limits{Connections: 1}, Watch{})
	for range 200 {
		c := s.dial(t)
		send(t, c, "?")
		expect(t, c, "+")
		_ = c.Close()
		eventually(t, "it is gone", func() bool { return s.Counts() == Counts{} })
	}
}

// TestSilentSockets: those that say nothing, ten times the budget, do not keep a
// client out, at the limit or below it.
func TestSilentSockets(t *testing.T) {
	for name, l := range map[string]Limits{
		"below the limit": {Pending: 20, SilentGrace: time.Millisecond},
		"at the limit":    {Connections: 1, Extra: 5, SilentGrace: time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			var evicted atomic.Int32
			s := start(t, echo, l, Watch{Evicted: func(net.Addr) { evicted.Add(1) }})
			admitted := s.dial(t)
			send(t, admitted, "?")
			expect(t, admitted, "+")
			for range 200 {
				s.dial(t)
			}
			answer := make([]byte, 1)
			eventually(t, "a client that speaks is served", func() bool {
				c := s.dial(t)
				_, err := io.WriteString(c, "?")
				_, err2 := io.ReadFull(c, answer)
				return errors.Join(err, err2) == nil
			})
			if evicted.Load() == 0 {
				t.Error("nobody was evicted")
			}
			send(t, admitted, "still here")
			expect(t, admitted, "still here")
		})
	}
}

// TestCrowdWaits: ten times as many clients as may be pending, all of which
// speak, are all served.
func TestCrowdWaits(t *testing.T) {
	s := start(t, echo, Limits{Pending: 4}, Watch{})
	var crowd sync.WaitGroup
	for range 40 {
		c := s.dial(t)
		crowd.Go(func() {
			var answer [1]byte
			_, err := io.WriteString(c, "?")
			_, err2 := io.ReadFull(c, answer[:])
			if err := errors.Join(err, err2); err != nil {
				t.Error(err)
			}
		})
	}
	crowd.Wait()
}

func TestEvictedHandlerKnowsWhy(t *testing.T) {
	causes := make(chan error, 2)
	s := start(t, func(ctx context.Context, c *Conn) error {
		_, err := c.Read(make([]byte, 1))
		causes <- context.Cause(ctx)
		return err
	}, Limits{Pending: 1, SilentGrace: time.Millisecond}, Watch{})
	s.dial(t)
	s.dial(t)
	if err := <-causes; !errors.Is(err, ErrEvicted) {
		t.Error(err)
	}
}

func TestPanicOfAHandler(t *testing.T) {
	done := make(chan error, 1)
	s := start(t, func(context.Context, *Conn) error { panic("cannot be") }, Limits{}, Watch{Done: func(_ *Conn, err error) { done <- err }})
	c := s.dial(t)
	expectEnd(t, c)
	if p, ok := errors.AsType[*PanicError](<-done); !ok || p.Value != "cannot be" {
		t.Errorf("%v", p)
	}
	expectEnd(t, s.dial(t))
}

func TestShutdown(t *testing.T) {
	causes := make(chan error, 1)
	s := start(t, func(ctx context.Context, c *Conn) error {
		err := echo(ctx, c)
		causes <- context.Cause(ctx)
		return err
	}, Limits{}, Watch{})
	c := s.dial(t)
	send(t, c, "?")
	expect(t, c, "+")

	s.Stop()
	if err := <-s.served; err != nil {
		t.Error(err)
	}
	s.served <- nil
	if _, err := net.Dial("tcp", s.address); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("after Stop: %v", err)
	}
	send(t, c, "still served")
	expect(t, c, "still served")

	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := s.Drain(short); !errors.Is(err, context.DeadlineExceeded) || err.Error() != "1 connections are still open: context deadline exceeded" {
		t.Errorf("Drain: %v", err)
	}

	s.Force()
	if err := s.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-causes; !errors.Is(err, ErrForced) {
		t.Errorf("the handler's context ended for %v", err)
	}
}

func TestDrainWaitsForTheLast(t *testing.T) {
	s := start(t, echo, Limits{}, Watch{})
	c := s.dial(t)
	send(t, c, "?")
	expect(t, c, "+")
	s.Stop()
	drained := make(chan error, 1)
	go func() { drained <- s.Drain(t.Context()) }()
	_ = c.Close()
	if err := <-drained; err != nil {
		t.Error(err)
	}
}

// TestForceEndsRelays: relays that are idle, and ones that write to a reader that
// does not read.
func TestForceEndsRelays(t *testing.T) {
	each(t, func(t *testing.T, d dress) {
		results := make(chan Result, 2)
		backend := start(t, func(_ context.Context, c *Conn) error {
			c.Admit()
			<-pour(c, 64<<20, 0)
			return nil
		}, Limits{}, Watch{})
		s := start(t, func(ctx context.Context, c *Conn) error {
			c.Admit()
			b, err := net.Dial("tcp", backend.address)
			if err != nil {
				return err
			}
			results <- NewRelay(d.inner(c), b, Options{}).Run(ctx)
			return nil
		}, Limits{}, Watch{})
		for range 2 {
			c := d.outer(s.dial(t))
			_, _ = io.CopyN(io.Discard, c, 1<<20)
		}
		s.Force()
		if err := s.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		for range 2 {
			if r := <-results; r.First != Forced {
				t.Errorf("%+v", r)
			}
		}
	})
}

func TestEndOfContextOnlyStopsAccepting(t *testing.T) {
	ln := listen(t)
	s := NewServer(echo, Limits{}, Watch{})
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, ln) }()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	send(t, c, "?")
	expect(t, c, "+")
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	send(t, c, "still served")
	expect(t, c, "still served")
	_ = c.Close()
	if err := s.Drain(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestListenerClosedByOthers is an error, unlike a listener closed by Stop.
func TestListenerClosedByOthers(t *testing.T) {
	ln := listen(t)
	_ = ln.Close()
	if err := NewServer(echo, Limits{}, Watch{}).Serve(t.Context(), ln); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}
