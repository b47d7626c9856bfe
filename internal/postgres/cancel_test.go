package postgres_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/cancel"
	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
)

// keyServer lets everybody in, gives all the same key, and notes who cancels.
type keyServer struct {
	net.Listener
	key  pgwire.Key
	hold chan struct{}   // cancels are served once it is closed
	over <-chan struct{} // the test has ended

	asked atomic.Int32 // sessions that have sent something after the login

	mu        sync.Mutex
	cancelled []pgwire.Key
}

func serveKey(t *testing.T, key pgwire.Key) *keyServer {
	t.Helper()
	s := &keyServer{Listener: loopback(t), key: key, hold: make(chan struct{}), over: t.Context().Done()}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := s.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { s.answer(c) })
		}
	})
	t.Cleanup(func() {
		_ = s.Close()
		wg.Wait()
	})
	return s
}

func (s *keyServer) answer(c net.Conn) {
	defer c.Close()
	packet, err := pgwire.Read(c)
	if err != nil {
		return
	}
	if packet.Kind == pgwire.CancelRequest {
		select {
		case <-s.hold:
		case <-s.over:
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.cancelled = append(s.cancelled, packet.Key)
		return
	}
	k := binary.BigEndian.AppendUint32([]byte{'K'}, uint32(8+len(s.key.Secret)))
	k = append(binary.BigEndian.AppendUint32(k, s.key.PID), s.key.Secret...)
	_, _ = io.WriteString(c, loggedIn[:9]+string(k)+loggedIn[9:])
	if n, _ := c.Read(make([]byte, 1)); n > 0 {
		s.asked.Add(1)
	}
	_, _ = io.Copy(io.Discard, c)
}

func (s *keyServer) serveCancels() *keyServer {
	close(s.hold)
	return s
}

// all are the keys that were cancelled.
func (s *keyServer) all() []pgwire.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.cancelled)
}

func (s *keyServer) cancels() int { return len(s.all()) }

// login opens a session and waits until it is ready.
func login(t *testing.T, address, user string, key pgwire.Key) net.Conn {
	t.Helper()
	c := start(t, address, user)
	if _, err := io.ReadFull(c, make([]byte, len(loggedIn)+9+len(key.Secret))); err != nil {
		t.Fatal(err)
	}
	return c
}

// askCancel sends a cancel and returns how long the router kept the client.
func askCancel(t *testing.T, address string, key pgwire.Key) time.Duration {
	t.Helper()
	packet, err := pgwire.AppendCancelRequest(nil, key)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	err = errors.Join(c.SetDeadline(time.Now().Add(20*time.Second)), write(c, packet))
	said, readErr := io.ReadAll(c)
	if err = errors.Join(err, readErr); err != nil || len(said) > 0 {
		t.Errorf("whoever cancels is told %q, %v", said, err)
	}
	return time.Since(began)
}

// others are replicas that all have one answer.
type others struct {
	says cancel.Outcome

	mu    sync.Mutex
	asked []pgwire.Key
}

func (o *others) Ask(_ context.Context, key pgwire.Key) cancel.Outcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked = append(o.asked, key)
	return o.says
}

func (o *others) say(outcome cancel.Outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.says = outcome
}

func (o *others) questions() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.asked)
}

var aKey = pgwire.Key{PID: 7, Secret: "four"}

// A key of this replica, of another one, and of nobody look alike: not a byte, an orderly
// end, and not in less than the time that all of them take.
func TestCancelsLookAlike(t *testing.T) {
	server := serveKey(t, aKey).serveCancels()
	peers := &others{says: cancel.Peer}
	router, address := serve(t, postgres.Options{Resolver: table(t, "orders="+server.Addr().String()), Peers: peers, TLS: certificate(t), Required: true})
	_ = loginTLS(t, address, "bob.orders", aKey)
	for name, c := range map[string]struct {
		key  pgwire.Key
		peer cancel.Outcome
		want cancel.Outcome
	}{
		"here":        {aKey, cancel.Unknown, cancel.Known},
		"there":       {pgwire.Key{PID: 7, Secret: "fouR"}, cancel.Peer, cancel.Peer},
		"nowhere":     {pgwire.Key{PID: 8, Secret: "four"}, cancel.Unknown, cancel.Unknown},
		"longer":      {pgwire.Key{PID: 7, Secret: "four\x00"}, cancel.Unknown, cancel.Unknown},
		"unreachable": {pgwire.Key{PID: 9, Secret: "four"}, cancel.Failed, cancel.Failed},
	} {
		peers.say(c.peer)
		before := router.Cancels().Count(c.want)
		if took := askCancel(t, address, c.key); took < 50*time.Millisecond {
			t.Errorf("%s: let go after %v", name, took)
		}
		if got := router.Cancels().Count(c.want); got != before+1 {
			t.Errorf("%s: %s is counted %d times", name, c.want, got-before)
		}
	}
	if server.cancels() != 1 || peers.questions() != 4 {
		t.Errorf("%d cancels at the server, %d questions to others; a key of this replica is none of theirs", server.cancels(), peers.questions())
	}
}

// Whoever cancels is let go when the server has acted, and not before: else the cancel
// could hit what the client does next.
func TestCancelsWaitForTheServer(t *testing.T) {
	server := serveKey(t, aKey)
	_, address := serve(t, postgres.Options{Resolver: table(t, "orders="+server.Addr().String())})
	_ = login(t, address, "bob.orders", aKey)
	free := make(chan time.Duration, 1)
	go func() { free <- askCancel(t, address, aKey) }()
	select {
	case <-free:
		t.Error("let go before the server has acted")
	case <-time.After(300 * time.Millisecond):
	}
	server.serveCancels()
	<-free
	if server.cancels() != 1 {
		t.Errorf("%d cancels", server.cancels())
	}
}

// Two servers gave the same key: both are told, until one of the sessions is over.
func TestEqualKeysOfTwoServers(t *testing.T) {
	a, b := serveKey(t, aKey).serveCancels(), serveKey(t, aKey).serveCancels()
	_, address := serve(t, postgres.Options{Resolver: table(t, "a="+a.Addr().String(), "b="+b.Addr().String())})
	first, second := login(t, address, "bob.a", aKey), login(t, address, "bob.b", aKey)
	askCancel(t, address, aKey)
	if a.cancels() != 1 || b.cancels() != 1 {
		t.Errorf("%d and %d cancels, want one each", a.cancels(), b.cancels())
	}
	_ = first.Close()
	eventually(t, "only the other is told", func() bool {
		before := a.cancels()
		askCancel(t, address, aKey)
		return a.cancels() == before
	})
	told := b.cancels()
	_ = second.Close()
	eventually(t, "nobody is told", func() bool {
		before := b.cancels()
		askCancel(t, address, aKey)
		return b.cancels() == before
	})
	if told < 2 {
		t.Errorf("%d cancels at the one that was left", told)
	}
}

func TestKeysOfEveryLength(t *testing.T) {
	for _, length := range []int{4, 5, 32, 255, 256} {
		key := pgwire.Key{PID: 1, Secret: strings.Repeat("s", length)}
		server := serveKey(t, key).serveCancels()
		_, address := serve(t, postgres.Options{Resolver: table(t, "orders="+server.Addr().String())})
		_ = login(t, address, "bob.orders", key)
		askCancel(t, address, key)
		if !slices.Equal(server.all(), []pgwire.Key{key}) {
			t.Errorf("%d bytes: %d cancels", length, server.cancels())
		}
	}
}

// A key of zeros is how a server says that it cannot cancel, and keys that are none are
// nobody's; what asks for them ends nothing.
func TestKeysThatAreNone(t *testing.T) {
	none := pgwire.Key{Secret: "\x00\x00\x00\x00"}
	server := serveKey(t, none).serveCancels()
	router, address := serve(t, postgres.Options{Resolver: table(t, "orders="+server.Addr().String())})
	_ = login(t, address, "bob.orders", none)
	askCancel(t, address, none)
	if server.cancels() != 0 || router.Cancels().Count(cancel.Unknown) != 1 {
		t.Errorf("%d cancels by a key of zeros", server.cancels())
	}
	for _, length := range []int{0, 1, 3, 257, 9000} {
		raw := binary.BigEndian.AppendUint32(nil, uint32(12+length))
		raw = append(raw, "\x04\xd2\x16\x2e\x00\x00\x00\x01"+strings.Repeat("s", length)...)
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(c.SetDeadline(time.Now().Add(20*time.Second)), write(c, raw))
		if said, readErr := io.ReadAll(c); err != nil || readErr != nil || !strings.Contains(string(said), "08P01") {
			t.Errorf("a secret of %d bytes: %q, %v, %v", length, said, err, readErr)
		}
		_ = c.Close()
	}
	if got := router.Cancels().Count(cancel.Unknown); got != 1 {
		t.Errorf("%d of them were looked for", got-1)
	}
}

// Thousands of guesses of one network cost little, and keep nobody out.
func TestAFloodOfCancels(t *testing.T) {
	server := serveKey(t, aKey).serveCancels()
	peers := &others{says: cancel.Unknown}
	router, address := serve(t, postgres.Options{Resolver: table(t, "orders="+server.Addr().String()), Peers: peers})
	before := runtime.NumGoroutine()
	var wg sync.WaitGroup
	const floods, each = 16, 125
	for f := range floods {
		wg.Go(func() {
			for n := range each {
				askCancel(t, address, pgwire.Key{PID: uint32(f*each + n), Secret: "guess"})
			}
		})
	}
	_ = login(t, address, "bob.orders", aKey)
	wg.Wait()
	tally := router.Cancels()
	limited, asked := tally.Count(cancel.Limited), tally.Count(cancel.Unknown)
	if limited+asked != floods*each || limited < floods*each/4 || int(asked) != peers.questions() {
		t.Errorf("%d were limited, %d looked for, and others asked about %d", limited, asked, peers.questions())
	}
	eventually(t, "no goroutine is left of it", func() bool { return runtime.NumGoroutine() < before+20 })
	eventually(t, "the network may cancel again", func() bool { askCancel(t, address, aKey); return server.cancels() > 0 })
}
