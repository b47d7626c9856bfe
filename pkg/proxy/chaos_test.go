package proxy

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"time"
)

// chaosSessions come and go in every way at once.
const chaosSessions = 2000

// TestChaos: whatever peers do, every connection, descriptor and goroutine is
// given back. goleak looks for the goroutines.
func TestChaos(t *testing.T) {
	before := descriptors(t)
	backend := start(t, rudeBackend, Limits{}, Watch{})
	s := start(t, chaosHandler(backend.address), Limits{Connections: 40, Pending: 16, SilentGrace: time.Millisecond}, Watch{})
	var crowd sync.WaitGroup
	turns := make(chan int64)
	for range 64 {
		crowd.Go(func() {
			for turn := range turns {
				misbehave(s.address, rand.New(rand.NewPCG(1, uint64(turn))))
			}
		})
	}
	for turn := range int64(chaosSessions) {
		turns <- turn
	}
	close(turns)
	crowd.Wait()
	for _, server := range []*running{s, backend} {
		server.Stop()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := server.Drain(ctx); err != nil {
			t.Error(err)
		}
		if counts := server.Counts(); counts != (Counts{}) {
			t.Errorf("%+v", counts)
		}
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// chaosHandler relays to a backend, over TLS for every other connection, and ends
// some relays by itself.
func chaosHandler(backend string) Handler {
	return func(ctx context.Context, c *Conn) error {
		var kind [1]byte
		if _, err := io.ReadFull(c, kind[:]); err != nil || !c.Admit() {
			return err
		}
		b, err := net.Dial("tcp", backend)
		if err != nil {
			return err
		}
		a := dresses[int(kind[0])%2].inner(c)
		seen := 0
		NewRelay(a, b, Options{Linger: 10 * time.Millisecond, FromB: func(chunk []byte) Verdict {
			seen += len(chunk)
			return Verdict{Stop: seen > 300_000, Final: Final{ToA: []byte("fatal")}}
		}}).Run(ctx)
		return nil
	}
}

// rudeBackend echoes, and leaves after a while in one of several ways.
func rudeBackend(_ context.Context, c *Conn) error {
	c.Admit()
	r := rand.New(rand.NewPCG(2, rand.Uint64()))
	_ = c.SetDeadline(time.Now().Add(time.Second))
	_, _ = io.CopyN(c, c, r.Int64N(400_000))
	if r.IntN(3) == 0 {
		_ = c.NetConn().(*net.TCPConn).SetLinger(0)
	}
	return nil
}

// misbehave is one client.
func misbehave(address string, r *rand.Rand) {
	raw, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer raw.Close()
	_ = raw.SetDeadline(time.Now().Add(2 * time.Second))
	kind := byte(r.IntN(2))
	if r.IntN(8) == 0 {
		return // has said nothing
	}
	_, _ = raw.Write([]byte{kind})
	c := dresses[kind].outer(raw)
	if r.IntN(8) == 0 {
		c = raw // no handshake, perhaps
	}
	_, _ = c.Write(make([]byte, r.IntN(100_000)))
	switch r.IntN(4) {
	case 0:
		_ = raw.(*net.TCPConn).SetLinger(0)
	case 1:
		closeWrite(c)
		_, _ = io.Copy(io.Discard, c)
	case 2:
		_, _ = io.CopyN(io.Discard, c, r.Int64N(100_000))
	}
}
