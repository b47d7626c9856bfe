package proxy

import (
	"context"
	"net"
	"sync"
	"time"
)

// Party is who ended a relay.
type Party uint8

// The parties to a relay.
const (
	Nobody Party = iota // it has not ended
	A                   // the first connection closed or failed
	B                   // the second one did
	Owner               // End or an observer ended it
	Forced              // its context ended, a connection was closed under it, or an observer panicked
)

func (p Party) String() string {
	return [...]string{"nobody", "a", "b", "owner", "forced"}[p]
}

// Final is what each side is told in place of the other's stream; empty for nothing.
type Final struct{ ToA, ToB []byte }

// Verdict is what an observer decides about a chunk. The zero value forwards it.
type Verdict struct {
	// Stop ends the relay. Nothing that either side sent, and that no observer has
	// passed yet, is forwarded any more.
	Stop bool
	// Forward is, with Stop, how many leading bytes of this chunk still are; 0 to
	// the chunk's length.
	Forward int
	// Final is, with Stop, what follows the bytes forwarded.
	Final Final
}

// Observer sees each chunk of a direction, 1 to 16384 bytes, before it is
// forwarded. The observers of a relay are never called at the same time, so they
// may share state. They must neither keep nor change the chunk, nor block, nor
// call the Relay.
type Observer func(chunk []byte) Verdict

// Options tune a Relay; the zero value is usable.
type Options struct {
	// FromA and FromB see the bytes that come from that side; nil for nobody.
	FromA, FromB Observer
	// Linger is how long the rest may take once one direction has ended: a side
	// that closed has its end passed on as a half-close, and the other direction
	// goes on for as long; after End it is how long a side may take to read its
	// last words and close. 0 is DefaultLinger. Negative lets a direction go on
	// until it ends by itself; End then lingers for DefaultLinger.
	Linger time.Duration
	// Record bounds the plaintext of a TLS record that a relay sends; 0 is TLS's own bound
	// of 16 KiB (RFC 8446, 5.1).
	Record int
	// Ended is told, once and beside the rest of the relay, that A or B was the
	// first to end. It must not block.
	Ended func(Party)
}

// DefaultLinger is long enough for a peer to answer a half-close.
const DefaultLinger = time.Second

// Result is how a relay went.
type Result struct {
	First        Party // who ended it
	FromA, FromB int64 // bytes of that side that were forwarded
	// ErrA and ErrB are what failed at that side, reading or writing; nil for an
	// orderly end, and for what failed because the relay was ending.
	ErrA, ErrB error
	// Panic is what an observer or Ended did; nil for nothing.
	Panic *PanicError
}

// Relay carries bytes between two connections. Make it with NewRelay and run it once.
type Relay struct {
	options Options
	a, b    direction // what comes from that side
	circuit *circuit  // nil unless it is on a loop
	apart   bool      // it shall not be on a loop

	mu      sync.Mutex
	running bool
	stopped bool // nothing more is observed or forwarded
	aborted bool
	first   Party
	panic   *PanicError

	failures [B + 1]error // by side
}

// NewRelay prepares a relay between a and b, which Run will close. A
// *net.TCPConn, a *Conn and a *tls.Conn over a *Conn hold no buffer while they are
// idle; every other connection holds 1 KiB. Deadlines of both are cleared. Run takes
// what is under a *Conn away from it: only the *Conn itself may be used beside it.
func NewRelay(a, b net.Conn, o Options) *Relay {
	if o.Linger == 0 {
		o.Linger = DefaultLinger
	}
	a, b = pollable(a), pollable(b)
	r := &Relay{options: o}
	r.a = direction{relay: r, side: A, from: a, to: b, observe: o.FromA, back: &r.b}
	r.b = direction{relay: r, side: B, from: b, to: a, observe: o.FromB, back: &r.a}
	return r
}

func pollable(c net.Conn) net.Conn {
	if tcp, ok := c.(*net.TCPConn); ok {
		return Wrap(tcp)
	}
	return c
}

// Run carries bytes until the relay has ended, closes both connections, and
// waits for everything it started. A TLS session that has not shaken hands does
// so first, within the deadline that its connection has. The end of ctx closes
// both at once.
func (r *Relay) Run(ctx context.Context) Result {
	aborted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(aborted)
		r.abort()
	})
	if r.begin(ctx) {
		r.carry()
	}
	if !stop() {
		<-aborted
	}
	r.close()
	return r.result()
}

// carry moves the bytes, on a loop if both sides can be there.
func (r *Relay) carry() {
	if r.circuit != nil {
		r.circuit.run()
		return
	}
	var other sync.WaitGroup
	other.Go(r.b.run)
	r.a.run()
	other.Wait()
}

// begin shakes hands where TLS has not, and clears the deadlines of the startup.
func (r *Relay) begin(ctx context.Context) bool {
	for _, d := range []*direction{&r.a, &r.b} {
		if err := handshaken(ctx, d.from); err != nil {
			if ctx.Err() == nil {
				r.end(d.side, err)
			}
			return false
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.aborted {
		return false
	}
	r.running = true
	r.circuit = newCircuit(r)
	_ = r.a.from.SetDeadline(time.Time{})
	_ = r.b.from.SetDeadline(time.Time{})
	return true
}

// End asks decide whether to end the relay now, between two chunks: no observer
// runs meanwhile, what they have passed will be delivered, and if decide says yes
// nothing else is forwarded; final follows what was delivered. It reports whether
// it ended the relay; it asks nothing and reports false if the relay does not run,
// or has begun to end. decide has the duties of an Observer.
func (r *Relay) End(decide func() (final Final, end bool)) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.running || r.first != Nobody {
		return false
	}
	final, end := decide()
	if end {
		r.stop(final)
	}
	return end
}

// Forwarded returns how many bytes of A and of B have been forwarded so far.
func (r *Relay) Forwarded() (fromA, fromB int64) {
	return r.a.bytes.Load(), r.b.bytes.Load()
}

func (r *Relay) result() Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	fromA, fromB := r.Forwarded()
	return Result{First: r.first, FromA: fromA, FromB: fromB, ErrA: r.failures[A], ErrB: r.failures[B], Panic: r.panic}
}
