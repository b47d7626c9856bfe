package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"hash/maphash"
	"io"
	"net"
	"syscall"
	"testing"
	"time"
)

func TestEcho(t *testing.T) {
	each(t, func(t *testing.T, d dress) {
		s := relayed(t, d, Options{})
		for range 100 {
			send(t, s.a, "ping")
			expect(t, s.b, "ping")
			send(t, s.b, "pong")
			expect(t, s.a, "pong")
		}
		if fromA, fromB := s.Forwarded(); fromA != 400 || fromB != 400 {
			t.Errorf("forwarded %d and %d bytes", fromA, fromB)
		}
	})
}

// TestBulk fills both directions at once; a relay that waits for one while it
// serves the other would stop.
func TestBulk(t *testing.T) {
	const size = 64 << 20
	each(t, func(t *testing.T, d dress) {
		s := relayed(t, d, Options{Linger: -1})
		fromA, fromB := pour(s.a, size, 1), pour(s.b, size, 2)
		atA, atB := drink(s.a), drink(s.b)
		if sum := <-fromA; sum != <-atB {
			t.Error("b did not read what a wrote")
		}
		if sum := <-fromB; sum != <-atA {
			t.Error("a did not read what b wrote")
		}
		if r := s.result(); r.FromA != size || r.FromB != size || r.ErrA != nil || r.ErrB != nil {
			t.Errorf("%+v", r)
		}
	})
}

var seed = maphash.MakeSeed()

// pour writes size bytes in writes of changing lengths, closes that half, and says their sum.
func pour(to net.Conn, size int, salt byte) <-chan uint64 {
	done := make(chan uint64, 1)
	go func() {
		var sum maphash.Hash
		sum.SetSeed(seed)
		block := make([]byte, 70_000)
		for i := range block {
			block[i] = byte(i*7) + salt
		}
		for length := 1; size > 0; length = length*5%69_997 + 1 {
			part := block[:min(length, size)]
			if _, err := to.Write(part); err != nil {
				break
			}
			_, _ = sum.Write(part)
			size -= len(part)
		}
		closeWrite(to)
		done <- sum.Sum64()
	}()
	return done
}

// drink reads to the end and says the sum of it.
func drink(from net.Conn) <-chan uint64 {
	done := make(chan uint64, 1)
	go func() {
		var sum maphash.Hash
		sum.SetSeed(seed)
		_, _ = io.Copy(&sum, from)
		done <- sum.Sum64()
	}()
	return done
}

func TestHalfCloseOfA(t *testing.T) {
	each(t, func(t *testing.T, d dress) {
		s := relayed(t, d, Options{Linger: -1})
		send(t, s.a, "question")
		closeWrite(s.a)
		expect(t, s.b, "question")
		expectEnd(t, s.b)
		send(t, s.b, "late answer")
		closeWrite(s.b)
		expect(t, s.a, "late answer")
		expectEnd(t, s.a)
		if r := s.result(); r != (Result{First: A, FromA: 8, FromB: 11}) {
			t.Errorf("%+v", r)
		}
	})
}

func TestHalfCloseOfB(t *testing.T) {
	each(t, func(t *testing.T, d dress) {
		s := relayed(t, d, Options{Linger: -1})
		send(t, s.b, "notice")
		closeWrite(s.b)
		expect(t, s.a, "notice")
		expectEnd(t, s.a)
		send(t, s.a, "late words")
		closeWrite(s.a)
		expect(t, s.b, "late words")
		expectEnd(t, s.b)
		if r := s.result(); r != (Result{First: B, FromA: 10, FromB: 6}) {
			t.Errorf("%+v", r)
		}
	})
}

// TestEitherEndEndsBoth: the other side is given Linger, and no more.
func TestEitherEndEndsBoth(t *testing.T) {
	each(t, func(t *testing.T, d dress) {
		ended := make(chan Party, 2)
		s := relayed(t, d, Options{Linger: 50 * time.Millisecond, Ended: func(p Party) { ended <- p }})
		send(t, s.b, "goodbye")
		closeWrite(s.b)
		expect(t, s.a, "goodbye")
		expectEnd(t, s.a)
		if r := s.result(); r != (Result{First: B, FromB: 7}) {
			t.Errorf("%+v", r)
		}
		if p := <-ended; p != B || len(ended) > 0 {
			t.Errorf("Ended was told %v and %d more", p, len(ended))
		}
	})
}

// TestUnreadBytesDoNotLoseTheEnd: b closes while a still sends; a reads all that b said.
func TestUnreadBytesDoNotLoseTheEnd(t *testing.T) {
	each(t, func(t *testing.T, d dress) {
		s := relayed(t, d, Options{})
		send(t, s.a, "before")
		expect(t, s.b, "before")
		send(t, s.b, "fatal")
		_ = s.b.Close()
		eventually(t, "a's writes reach a closed peer", func() bool {
			_, err := io.WriteString(s.a, "more")
			return err != nil || s.ending()
		})
		_, _ = io.WriteString(s.a, "and more")
		expect(t, s.a, "fatal")
		expectEnd(t, s.a)
	})
}

func (r *Relay) ending() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.first != Nobody
}

func TestReset(t *testing.T) {
	each(t, func(t *testing.T, d dress) {
		s := relayed(t, d, Options{})
		send(t, s.a, "x")
		expect(t, s.b, "x")
		_ = s.rawA.SetLinger(0)
		_ = s.rawA.Close()
		expectEnd(t, s.b)
		_ = s.b.Close()
		if r := s.result(); r.First != A || !errors.Is(r.ErrA, syscall.ECONNRESET) || r.ErrB != nil {
			t.Errorf("%+v", r)
		}
	})
}

// TestStuckReader: TCP_USER_TIMEOUT ends a relay whose peer takes nothing more.
func TestStuckReader(t *testing.T) {
	each(t, func(t *testing.T, d dress) {
		live := DefaultLiveness()
		live.UserTimeout = 300 * time.Millisecond
		rawA, inA := connect(t)
		inB, b := connect(t)
		if err := SetLiveness(inA, live); err != nil {
			t.Fatal(err)
		}
		relay := NewRelay(d.inner(inA), inB, Options{Linger: 10 * time.Millisecond})
		relay.apart = d.apart
		done := make(chan Result, 1)
		go func() { done <- relay.Run(t.Context()) }()
		if c, ok := d.outer(rawA).(*tls.Conn); ok {
			if err := c.Handshake(); err != nil {
				t.Fatal(err)
			}
		}
		<-pour(b, 64<<20, 0)
		_ = b.Close()
		if r := <-done; r.First != A || !errors.Is(r.ErrA, syscall.ETIMEDOUT) {
			t.Errorf("%+v", r)
		}
	})
}

// TestSlowDrip sends single bytes, and each arrives before the next is sent.
func TestSlowDrip(t *testing.T) {
	each(t, func(t *testing.T, d dress) {
		s := relayed(t, d, Options{})
		for i := range 2000 {
			send(t, s.b, string(rune('a'+i%26)))
			expect(t, s.a, string(rune('a'+i%26)))
		}
	})
}

// TestDripThroughRecords: bytes of a TLS record come one at a time.
func TestDripThroughRecords(t *testing.T) {
	rawA, inA := connect(t)
	inB, b := connect(t)
	relay := NewRelay(tls.Server(Wrap(inA), serverTLS()), inB, Options{})
	done := make(chan Result, 1)
	go func() { done <- relay.Run(t.Context()) }()
	client := tls.Client(&dripper{rawA}, &tls.Config{InsecureSkipVerify: true})
	text := string(bytes.Repeat([]byte("drip"), 500))
	send(t, client, text)
	expect(t, b, text)
	_ = client.Close()
	expectEnd(t, b)
	_ = b.Close()
	if r := <-done; r.First != A || r.ErrA != nil {
		t.Errorf("%+v", r)
	}
}

// dripper writes one byte a segment.
type dripper struct{ *net.TCPConn }

func (d *dripper) Write(p []byte) (int, error) {
	for i := range p {
		if _, err := d.TCPConn.Write(p[i : i+1]); err != nil {
			return i, err
		}
	}
	return len(p), nil
}

func TestCloseInTheMiddle(t *testing.T) {
	each(t, func(t *testing.T, d dress) {
		s := relayed(t, d, Options{Linger: 10 * time.Millisecond})
		poured := pour(s.b, 32<<20, 0)
		_, _ = io.CopyN(io.Discard, s.a, 1<<20)
		_ = s.rawA.Close()
		<-poured
		if r := s.result(); r.First != A {
			t.Errorf("%+v", r)
		}
	})
}

// TestForced: both directions are writing to a peer that does not read.
func TestForced(t *testing.T) {
	each(t, func(t *testing.T, d dress) {
		s := relayed(t, d, Options{})
		poured := []<-chan uint64{pour(s.a, 64<<20, 0), pour(s.b, 64<<20, 0)}
		eventually(t, "bytes move", func() bool { a, b := s.Forwarded(); return a > 0 && b > 0 })
		s.abort()
		for _, p := range poured {
			<-p
		}
		if r := s.result(); r.First != Forced || r.ErrA != nil || r.ErrB != nil {
			t.Errorf("%+v", r)
		}
	})
}

func TestPanicOfAnObserver(t *testing.T) {
	each(t, func(t *testing.T, d dress) {
		s := relayed(t, d, Options{FromA: func([]byte) Verdict { panic("cannot be") }})
		send(t, s.a, "x")
		if r := s.result(); r.Panic == nil || r.Panic.Value != "cannot be" || r.First != Forced {
			t.Errorf("%+v", r)
		}
	})
}

// TestUnread: bytes that were peeked at come first.
func TestUnread(t *testing.T) {
	rawA, inA := connect(t)
	inB, b := connect(t)
	c := Wrap(inA)
	send(t, rawA, "hello")
	expect(t, c, "hel")
	c.Unread([]byte("hel"))
	expect(t, c, "he")
	c.Unread([]byte("he"))
	relay := NewRelay(c, inB, Options{})
	done := make(chan Result, 1)
	go func() { done <- relay.Run(t.Context()) }()
	expect(t, b, "hello")
	_ = rawA.Close()
	_ = b.Close()
	<-done
}

// TestForcedInHandshake: the peer never speaks TLS.
func TestForcedInHandshake(t *testing.T) {
	_, inA := connect(t)
	inB, _ := connect(t)
	ctx, cancel := context.WithCancel(t.Context())
	relay := NewRelay(tls.Server(Wrap(inA), serverTLS()), inB, Options{})
	done := make(chan Result, 1)
	go func() { done <- relay.Run(ctx) }()
	cancel()
	if r := <-done; r != (Result{First: Forced}) {
		t.Errorf("%+v", r)
	}
}

// TestFailedHandshake is a failure of that side.
func TestFailedHandshake(t *testing.T) {
	rawA, inA := connect(t)
	inB, b := connect(t)
	send(t, rawA, "this is no ClientHello")
	r := NewRelay(tls.Server(Wrap(inA), serverTLS()), inB, Options{}).Run(t.Context())
	if _, ok := errors.AsType[tls.RecordHeaderError](r.ErrA); !ok || r.First != A {
		t.Errorf("%+v", r)
	}
	expectEnd(t, b)
}

// TestPanicInHandshake is an error, not the end of the process.
func TestPanicInHandshake(t *testing.T) {
	rawA, inA := connect(t)
	client := tlsClient(rawA).(*tls.Conn)
	shaken := make(chan error, 1)
	go func() { shaken <- client.Handshake() }()
	err := Handshake(t.Context(), tls.Server(inA, &tls.Config{
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { panic("cannot be") },
	}))
	if p, ok := errors.AsType[*PanicError](err); !ok || p.Value != "cannot be" {
		t.Error(err)
	}
	_ = inA.Close()
	<-shaken
}
