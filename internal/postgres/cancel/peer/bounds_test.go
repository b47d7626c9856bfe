package peer

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/cancel"
	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
)

// silent accepts, reads, and never answers. It counts the connections that are open, and
// what was the most of them.
type silent struct {
	address    string
	open, most atomic.Int64
}

func startSilent(t *testing.T) *silent {
	t.Helper()
	l := listener(t)
	s := &silent{address: l.Addr().String()}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.most.Store(max(s.most.Load(), s.open.Add(1)))
			wg.Go(func() {
				defer s.open.Add(-1)
				defer c.Close()
				for buf := make([]byte, 1024); ; {
					if _, err := c.Read(buf); err != nil {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return s
}

// A peer that is gone, or says nothing, takes no more than the time of a question, and
// the next one does not wait for it. The others are heard.
func TestPeersThatDoNotAnswer(t *testing.T) {
	gone := listener(t)
	_ = gone.Close()
	here := start(t, map[pgwire.Key]cancel.Outcome{mine: cancel.Known, broken: cancel.Failed}, 1)
	mute := startSilent(t)
	c := asker(t, []byte{1}, gone.Addr().String(), mute.address, here.address)
	c.options.Timeout = 500 * time.Millisecond
	if got := c.Ask(t.Context(), broken); got != cancel.Failed {
		t.Errorf("got %s", got)
	}
	expect(t, c.tally, map[Outcome]uint64{AskedFailed: 1, AskedSilent: 2})
	c.options.Timeout = time.Hour
	if got := c.Ask(t.Context(), nobodys); got != cancel.Unknown {
		t.Errorf("got %s", got)
	}
	expect(t, c.tally, map[Outcome]uint64{AskedFailed: 1, AskedUnknown: 1, AskedSilent: 3})
}

// A cancel that one peer has delivered does not wait for one that says nothing. That one
// counts as silent, and is asked again: it may only be slow.
func TestADeliveredCancelWaitsForNobody(t *testing.T) {
	here := start(t, map[pgwire.Key]cancel.Outcome{mine: cancel.Known}, 1)
	mute := startSilent(t)
	c := asker(t, []byte{1}, mute.address, here.address)
	c.options.Timeout = time.Hour
	for n := range uint64(2) {
		started := time.Now()
		if got := c.Ask(t.Context(), mine); got != cancel.Peer {
			t.Errorf("got %s", got)
		}
		if took := time.Since(started); took < restTime || took > 2*AskTimeout {
			t.Errorf("it took %v", took)
		}
		expect(t, c.tally, map[Outcome]uint64{AskedKnown: n + 1, AskedSilent: n + 1})
	}
	for deadline := time.Now().Add(10 * time.Second); mute.open.Load() > 0; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("a question is still open")
		}
	}
}

// Whoever answers within restTime is heard, in any order, and nothing is left when the
// outcome is there.
func TestAnswersAreJoined(t *testing.T) {
	type answer struct {
		after   time.Duration
		verdict Verdict
	}
	const never = time.Hour
	for name, c := range map[string]struct {
		answers []answer
		want    cancel.Outcome
		took    time.Duration
		counts  map[Outcome]uint64
	}{
		"nobody":           {nil, cancel.Unknown, 0, nil},
		"of nobody":        {[]answer{{1, NotMine}, {time.Second, NotMine}}, cancel.Unknown, time.Second, map[Outcome]uint64{AskedUnknown: 2}},
		"delivered last":   {[]answer{{1, NotMine}, {time.Second, Delivered}}, cancel.Peer, time.Second, map[Outcome]uint64{AskedKnown: 1, AskedUnknown: 1}},
		"twice":            {[]answer{{1, Delivered}, {restTime, Delivered}}, cancel.Peer, restTime, map[Outcome]uint64{AskedKnown: 2}},
		"failed, then not": {[]answer{{1, Failed}, {time.Second, Delivered}}, cancel.Peer, time.Second, map[Outcome]uint64{AskedKnown: 1, AskedFailed: 1}},
		"others late":      {[]answer{{1, Delivered}, {never, NotMine}, {2, NotMine}}, cancel.Peer, restTime + 1, map[Outcome]uint64{AskedKnown: 1, AskedUnknown: 1, AskedSilent: 1}},
		"failed, one late": {[]answer{{1, Failed}, {never, NotMine}}, cancel.Failed, AskTimeout, map[Outcome]uint64{AskedFailed: 1, AskedSilent: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var peers []string
				for i := range c.answers {
					peers = append(peers, fmt.Sprintf("10.0.0.1:%d", i))
				}
				a := asker(t, []byte{1}, peers...)
				started := time.Now()
				ctx, done := context.WithTimeout(t.Context(), AskTimeout)
				defer done()
				got := a.askAll(ctx, func(ctx context.Context, peer netip.AddrPort) (Verdict, error) {
					says := c.answers[peer.Port()]
					select {
					case <-time.After(says.after):
						return says.verdict, nil
					case <-ctx.Done():
						return 0, ctx.Err()
					}
				})
				if took := time.Since(started); got != c.want || took != c.took {
					t.Errorf("got %s after %v, want %s after %v", got, took, c.want, c.took)
				}
				expect(t, a.tally, c.counts)
			})
		})
	}
}

// The bound that users are promised.
func TestAQuestionTakesFiveSecondsAtMost(t *testing.T) {
	c := asker(t, []byte{1}, startSilent(t).address)
	c.options.Timeout = AskTimeout
	started := time.Now()
	if got := c.Ask(t.Context(), mine); got != cancel.Unknown {
		t.Errorf("got %s", got)
	}
	if took := time.Since(started); took < 4*time.Second || took > 15*time.Second {
		t.Errorf("it took %v", took)
	}
}

// A flood of questions costs a bounded number of sockets and goroutines: what is beyond
// is not asked.
func TestAFloodOfQuestionsIsBounded(t *testing.T) {
	mute := startSilent(t)
	c := asker(t, []byte{1}, mute.address)
	c.options.Timeout = 2 * time.Second
	before := runtime.NumGoroutine()
	var limited atomic.Int64
	var wg sync.WaitGroup
	for range 5000 {
		wg.Go(func() {
			if c.Ask(t.Context(), nobodys) == cancel.Limited {
				limited.Add(1)
			}
		})
	}
	for deadline := time.Now().Add(20 * time.Second); limited.Load() < 5000-asksUnderWay*2 && time.Now().Before(deadline); {
		runtime.Gosched()
	}
	// Each question under way: its own, the asking, two of the dial, and the reader there.
	if n := runtime.NumGoroutine() - before; n > 8*asksUnderWay {
		t.Errorf("%d goroutines more", n)
	}
	wg.Wait()
	if most := mute.most.Load(); most > asksUnderWay || most == 0 || limited.Load() < 5000-asksUnderWay*2 {
		t.Errorf("at most %d connections at once, %d questions were not asked", most, limited.Load())
	}
}

// Strangers who connect and say nothing keep no question away.
func TestStrangersKeepNobodyAway(t *testing.T) {
	a := start(t, map[pgwire.Key]cancel.Outcome{mine: cancel.Known}, 1)
	for range 4 * strangers {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", a.address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_, _ = conn.Write(bytes.Repeat([]byte{'G'}, 2))
	}
	if got := asker(t, []byte{1}, a.address).Ask(t.Context(), mine); got != cancel.Peer {
		t.Errorf("got %s", got)
	}
}
