package proxy

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestObserverStops(t *testing.T) {
	each(t, func(t *testing.T, d dress) {
		s := relayed(t, d, Options{FromB: func(chunk []byte) Verdict {
			if i := bytes.IndexByte(chunk, '!'); i >= 0 {
				return Verdict{Stop: true, Forward: i, Final: Final{ToA: []byte(" fatal"), ToB: []byte("leave")}}
			}
			return Verdict{}
		}})
		send(t, s.b, "harmless")
		expect(t, s.a, "harmless")
		send(t, s.b, "half! of it")
		expect(t, s.a, "half fatal")
		expectEnd(t, s.a)
		expect(t, s.b, "leave")
		expectEnd(t, s.b)
		_, _ = s.a.Close(), s.b.Close()
		if r := s.result(); r != (Result{First: Owner, FromB: 12}) {
			t.Errorf("%+v", r)
		}
	})
}

// TestEndReachesAPeerThatStillSends: bytes that come after the decision are read
// and dropped, so that no reset overtakes the last words.
func TestEndReachesAPeerThatStillSends(t *testing.T) {
	each(t, func(t *testing.T, d dress) {
		s := relayed(t, d, Options{Linger: patience})
		send(t, s.a, "x")
		expect(t, s.b, "x")
		if !s.End(func() (Final, bool) { return Final{ToA: []byte("fatal")}, true }) {
			t.Fatal("refused")
		}
		for range 100 {
			send(t, s.a, strings.Repeat("too late ", 1000))
		}
		expect(t, s.a, "fatal")
		expectEnd(t, s.a)
		expectEnd(t, s.b)
		_, _ = s.a.Close(), s.b.Close()
	})
}

// TestEndIsBounded: a peer that reads nothing does not hold the relay for long.
func TestEndIsBounded(t *testing.T) {
	each(t, func(t *testing.T, d dress) {
		s := relayed(t, d, Options{Linger: 50 * time.Millisecond})
		poured := pour(s.b, 64<<20, 0)
		eventually(t, "bytes move", func() bool { _, n := s.Forwarded(); return n > 1<<20 })
		s.End(func() (Final, bool) { return Final{ToA: []byte("fatal")}, true })
		<-poured
		if r := s.result(); r.First != Owner || r.ErrA != nil || r.ErrB != nil {
			t.Errorf("%+v", r)
		}
	})
}

func TestEndIsAskedOnlyWhileItRuns(t *testing.T) {
	never := func() (Final, bool) { panic("asked") }
	rawA, inA := connect(t)
	inB, rawB := connect(t)
	r := NewRelay(inA, inB, Options{})
	if r.End(never) {
		t.Error("ended before it ran")
	}
	_, _ = rawA.Close(), rawB.Close()
	r.Run(t.Context())
	if r.End(never) {
		t.Error("ended after it ran")
	}
}

// conversation is a client that asks without waiting for every answer, and an
// echoing server, with an owner that ends the relay between two answers.
type conversation struct {
	*session
	asked, answered int64 // what the observers have passed
	final           Final
}

func (c *conversation) fromA(chunk []byte) Verdict {
	c.asked += int64(len(chunk))
	return Verdict{}
}

func (c *conversation) fromB(chunk []byte) Verdict {
	c.answered += int64(len(chunk))
	return Verdict{}
}

// tryEnd ends the relay if every question that has passed was answered.
func (c *conversation) tryEnd() bool {
	return c.End(func() (Final, bool) { return c.final, c.asked == c.answered })
}

// ask writes numbered bytes in parts until a write fails. After every third part
// it waits for all answers, which heard counts; or until it is done. It counts its
// parts.
func ask(to net.Conn, parts []int, heard *atomic.Int64, done <-chan struct{}) (asked *atomic.Int64, ended <-chan struct{}) {
	asked = new(atomic.Int64)
	end := make(chan struct{})
	go func() {
		defer close(end)
		tick := time.NewTicker(moment)
		defer tick.Stop()
		for n, i := 0, 0; ; i++ {
			part := make([]byte, parts[i%len(parts)])
			for j := range part {
				part[j] = numbered(n)
				n++
			}
			if _, err := to.Write(part); err != nil {
				return
			}
			asked.Add(1)
			for i%3 == 0 && heard.Load() < int64(n) && !isClosed(done) {
				<-tick.C
			}
		}
	}()
	return asked, end
}

// moment is short enough to look into every phase of a round trip. A loop that
// yields instead would keep the scheduler from looking at the network.
const moment = 20 * time.Microsecond

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// counting counts what is written to it.
type counting struct {
	all bytes.Buffer
	n   atomic.Int64
}

func (c *counting) Write(p []byte) (int, error) {
	defer c.n.Add(int64(len(p)))
	return c.all.Write(p)
}

func numbered(n int) byte { return byte(n ^ n>>8 ^ n>>16) }

// check fails unless got is the first n numbered bytes and then last.
func check(t *rapid.T, who string, got []byte, n int64, last []byte) {
	if int64(len(got)) != n+int64(len(last)) {
		t.Fatalf("%s read %d bytes, want %d and %q", who, len(got), n, last)
	}
	for i, b := range got[:n] {
		if b != numbered(i) {
			t.Fatalf("%s: byte %d of %d is wrong", who, i, n)
		}
	}
	if !bytes.Equal(got[n:], last) {
		t.Fatalf("%s: last words are %q", who, got[n:])
	}
}

// TestEndUnderLoad: whatever passes the observers before the decision is
// delivered, nothing after it, and the last words come next.
func TestEndUnderLoad(t *testing.T) {
	each(t, func(t *testing.T, d dress) {
		rapid.Check(t, func(rt *rapid.T) {
			parts := rapid.SliceOfN(rapid.IntRange(1, 40_000), 1, 6).Draw(rt, "parts")
			after := rapid.Int64Range(0, 100).Draw(rt, "after")
			c := &conversation{final: Final{ToA: []byte("FATAL"), ToB: []byte("X")}}
			c.session = relayed(t, d, Options{FromA: c.fromA, FromB: c.fromB, Linger: 5 * time.Second})
			var atA, atB counting
			doneA, doneB := make(chan struct{}), make(chan struct{})
			asked, asking := ask(c.a, parts, &atA.n, doneA)
			go func() {
				defer close(doneB)
				_, _ = io.Copy(io.MultiWriter(&atB, tolerant{c.b}), c.b)
				_ = c.b.Close()
			}()
			go func() {
				defer close(doneA)
				_, _ = io.Copy(&atA, c.a)
				_ = c.a.Close()
			}()
			tick := time.NewTicker(moment)
			defer tick.Stop()
			for asked.Load() < after || !c.tryEnd() {
				<-tick.C
				if isClosed(doneA) || isClosed(doneB) {
					rt.Fatalf("ended too early: %+v, passed %d and %d", c.result(), c.asked, c.answered)
				}
			}
			<-doneB
			<-doneA
			check(rt, "b", atB.all.Bytes(), c.asked, c.final.ToB)
			check(rt, "a", atA.all.Bytes(), c.answered, c.final.ToA)
			<-asking
			if r := c.result(); r.First != Owner || r.FromA != c.asked || r.FromB != c.answered {
				rt.Fatalf("%+v, passed %d and %d", r, c.asked, c.answered)
			}
		})
	})
}

// tolerant writes what it can.
type tolerant struct{ io.Writer }

func (t tolerant) Write(p []byte) (int, error) {
	_, _ = t.Writer.Write(p)
	return len(p), nil
}
