package peer

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/cancel"
	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// replica is one that answers, and knows some keys.
type replica struct {
	address string
	tally   *cancel.Tally[Outcome]
	keys    *Keyring

	mu        sync.Mutex
	sessions  map[pgwire.Key]cancel.Outcome
	delivered []pgwire.Key
}

func (r *replica) deliver(_ context.Context, key pgwire.Key) cancel.Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.delivered = append(r.delivered, key)
	if outcome, known := r.sessions[key]; known {
		return outcome
	}
	return cancel.Unknown
}

func (r *replica) asked() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.delivered)
}

// keyring is of a file with keys that are one byte again and again.
func keyring(t *testing.T, fillings ...byte) *Keyring {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	writeKeys(t, path, fillings...)
	k, err := NewKeyring(path, quiet)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func writeKeys(t *testing.T, path string, fillings ...byte) {
	t.Helper()
	var raw []byte
	for _, b := range fillings {
		raw = append(raw, bytes.Repeat([]byte{b}, SecretSize)...)
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

var quiet = slog.New(slog.DiscardHandler)

func listener(t *testing.T) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// start starts a replica with keys, that has sessions.
func start(t *testing.T, sessions map[pgwire.Key]cancel.Outcome, fillings ...byte) *replica {
	t.Helper()
	l := listener(t)
	r := &replica{address: l.Addr().String(), sessions: sessions, tally: cancel.NewTally(Outcomes()), keys: keyring(t, fillings...)}
	s := NewServer(ServerOptions{Keys: r.keys, Deliver: r.deliver, Count: r.tally.Add, Log: quiet})
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return r
}

// asking is a client that counts.
type asking struct {
	*Client
	tally *cancel.Tally[Outcome]
}

func asker(t *testing.T, fillings []byte, peers ...string) asking {
	t.Helper()
	tally := cancel.NewTally(Outcomes())
	return asking{tally: tally, Client: NewClient(ClientOptions{
		Peers: peers, Self: netip.MustParseAddrPort("127.0.0.1:1"), Keys: keyring(t, fillings...),
		Timeout: 20 * time.Second, Count: tally.Add, Log: quiet,
	})}
}

func expect(t *testing.T, tally *cancel.Tally[Outcome], want map[Outcome]uint64) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for range time.Tick(time.Millisecond) {
		wrong := ""
		for outcome, count := range tally.All() {
			if count != want[outcome] {
				wrong += fmt.Sprintf("%s is %d, want %d; ", outcome, count, want[outcome])
			}
		}
		if wrong == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Error(wrong)
			return
		}
	}
}

var (
	mine    = pgwire.Key{PID: 1, Secret: "mine"}
	yours   = pgwire.Key{PID: 2, Secret: string(bytes.Repeat([]byte("y"), pgwire.MaxSecret))}
	both    = pgwire.Key{PID: 3, Secret: "both"}
	broken  = pgwire.Key{PID: 4, Secret: "broken"}
	nobodys = pgwire.Key{PID: 5, Secret: "nobody's"}
)

func TestAsk(t *testing.T) {
	a := start(t, map[pgwire.Key]cancel.Outcome{mine: cancel.Known, both: cancel.Known, broken: cancel.Failed}, 1)
	b := start(t, map[pgwire.Key]cancel.Outcome{yours: cancel.Known, both: cancel.Known}, 1)
	c := asker(t, []byte{1}, a.address, b.address, a.address)
	for key, want := range map[pgwire.Key]cancel.Outcome{
		mine: cancel.Peer, yours: cancel.Peer, both: cancel.Peer, broken: cancel.Failed, nobodys: cancel.Unknown,
	} {
		if got := c.Ask(t.Context(), key); got != want {
			t.Errorf("%s: got %s, want %s", key.Secret[:4], got, want)
		}
	}
	if a.asked() != 5 || b.asked() != 5 {
		t.Errorf("%d and %d questions, want 5 each: everybody is asked once", a.asked(), b.asked())
	}
	expect(t, a.tally, map[Outcome]uint64{HeardKnown: 2, HeardFailed: 1, HeardUnknown: 2})
	expect(t, c.tally, map[Outcome]uint64{AskedKnown: 4, AskedFailed: 1, AskedUnknown: 5})
}

// Every replica lists all of them, itself too, and no question goes further than once.
func TestNothingGoesRound(t *testing.T) {
	a, b := start(t, nil, 1), start(t, nil, 1)
	c := asker(t, []byte{1}, a.address, b.address)
	c.finder.self = netip.MustParseAddrPort(a.address)
	if got := c.Ask(t.Context(), nobodys); got != cancel.Unknown {
		t.Error(got)
	}
	if a.asked() != 0 || b.asked() != 1 {
		t.Errorf("it asked itself %d times, the other %d times", a.asked(), b.asked())
	}
}

// The key is changed in three steps, each replica at its time, and all understand each
// other at any moment.
func TestTheKeyIsChanged(t *testing.T) {
	steps := [][]byte{{1}, {1, 2}, {2, 1}, {2}}
	for i, here := range steps {
		for _, there := range steps[max(i-1, 0):min(i+2, len(steps))] {
			a := start(t, map[pgwire.Key]cancel.Outcome{mine: cancel.Known}, there...)
			if got := asker(t, here, a.address).Ask(t.Context(), mine); got != cancel.Peer {
				t.Errorf("with the keys %v a replica with %v says %s", here, there, got)
			}
		}
	}
}

func TestFilesOfKeysAreFollowed(t *testing.T) {
	a := start(t, map[pgwire.Key]cancel.Outcome{mine: cancel.Known}, 2)
	c := asker(t, []byte{1}, a.address)
	ask := func() cancel.Outcome {
		c.options.Keys.read = time.Time{}
		return c.Ask(t.Context(), mine)
	}
	if got := ask(); got != cancel.Unknown {
		t.Errorf("with another key: %s", got)
	}
	writeKeys(t, c.options.Keys.path, 2)
	if got := ask(); got != cancel.Peer {
		t.Errorf("with the right one in the file: %s", got)
	}
	if err := os.WriteFile(c.options.Keys.path, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := ask(); got != cancel.Peer {
		t.Errorf("with a file that is not usable: %s", got)
	}
}

// send writes to a replica and returns what it answers until it closes.
func send(t *testing.T, to string, raw []byte) []byte {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := conn.Write(raw); err != nil {
		t.Fatal(err)
	}
	answer, _ := io.ReadAll(conn) // a reset is no answer either
	return answer
}

// What is not a fresh question with the shared key is dropped without a word, and its
// key is not looked at.
func TestDropped(t *testing.T) {
	s, stranger := secret(t, 1), secret(t, 9)
	question := func(s Secret, at time.Time) []byte {
		raw, err := s.seal(Question{Time: at, Nonce: freshNonce(), Key: mine})
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	now := time.Now()
	next := question(s, now)
	next[3]++
	for name, c := range map[string]struct {
		raw  []byte
		want Outcome
	}{
		"forged":        {question(stranger, now), HeardForged},
		"changed":       {append(question(s, now)[:60:60], make([]byte, macSize)...)[:headerSize+8+macSize], HeardForged},
		"old":           {question(s, now.Add(-2*Window)), HeardStale},
		"from tomorrow": {question(s, now.Add(24*time.Hour)), HeardStale},
		"version":       {next, HeardVersion},
		"http":          {[]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), HeardMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			a := start(t, map[pgwire.Key]cancel.Outcome{mine: cancel.Known}, 1)
			if answer := send(t, a.address, c.raw); len(answer) > 0 {
				t.Errorf("it is answered with %x", answer)
			}
			expect(t, a.tally, map[Outcome]uint64{c.want: 1})
			if a.asked() > 0 {
				t.Error("its key was looked at")
			}
		})
	}
}

func TestReplay(t *testing.T) {
	a := start(t, map[pgwire.Key]cancel.Outcome{mine: cancel.Known}, 1)
	raw, err := secret(t, 1).seal(Question{Time: time.Now(), Nonce: freshNonce(), Key: mine})
	if err != nil {
		t.Fatal(err)
	}
	if answer := send(t, a.address, raw); len(answer) != answerSize {
		t.Errorf("the first is answered with %x", answer)
	}
	if answer := send(t, a.address, raw); len(answer) != 0 {
		t.Errorf("the second is answered with %x", answer)
	}
	expect(t, a.tally, map[Outcome]uint64{HeardKnown: 1, HeardReplayed: 1})
	if a.asked() != 1 {
		t.Errorf("%d cancels", a.asked())
	}
}
