package discovery_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/discovery"
)

func TestMain(m *testing.M) {
	if os.Getenv(benchServer) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	if err := answerBench(); err != nil {
		panic(err)
	}
}

// served is an API on a real listener.
type served struct {
	*world
	address string
	stop    func() // and wait until it has ended
}

func serve(t *testing.T, change func(*discovery.API)) *served {
	t.Helper()
	s := &served{world: start(t)}
	change(s.API)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var ended sync.WaitGroup
	ended.Go(func() {
		if err := s.Serve(ctx, l); err != nil {
			t.Error(err)
		}
	})
	s.address, s.stop = l.Addr().String(), func() { cancel(); ended.Wait() }
	t.Cleanup(s.stop)
	return s
}

// dial opens a connection on which all is over in half a minute.
func (s *served) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	return c
}

func say(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

// hear reads an answer.
func hear(t *testing.T, c net.Conn) (status int, code, body string) {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), `"error":"`)
	code, _, _ = strings.Cut(rest, `"`)
	return resp.StatusCode, code, string(text)
}

const waiting = "POST /v1/leases?wait=30s HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + token + "\r\nContent-Length: 29\r\n\r\n" + `{"selector":{"country":"xx"}}`

// TestWaitOutlastsReading: who waits for a proxy is not cut off as one who is slow to ask.
func TestWaitOutlastsReading(t *testing.T) {
	s := serve(t, func(a *discovery.API) { a.Hurry(100*time.Millisecond, 10) })
	c := s.dial(t)
	began := time.Now()

	say(t, c, strings.Replace(waiting, "wait=30s", "wait=500ms", 1))
	status, code, body := hear(t, c)

	if took := time.Since(began); status != 409 || code != "no_match" || took < 500*time.Millisecond {
		t.Errorf("after %v: %d %s", took, status, body)
	}
}

// TestStopAnswersWhoWaits at once, and lets nobody connect any more.
func TestStopAnswersWhoWaits(t *testing.T) {
	s := serve(t, func(*discovery.API) {})
	c := s.dial(t)
	say(t, c, waiting)
	s.wait(t, 1)
	began := time.Now()

	s.stop()

	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("it took %v to end", took)
	}
	if status, code, body := hear(t, c); status != 503 || code != "stopping" {
		t.Errorf("it answers %d %s", status, body)
	}
	if c, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.address); err == nil {
		_ = c.Close()
		t.Error("it still takes connections")
	}
}

// wait waits until so many wait in the store.
func (s *served) wait(t *testing.T, n int32) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); s.inside.Load() != n; {
		if time.Now().After(deadline) {
			t.Fatalf("%d wait, want %d", s.inside.Load(), n)
		}
		select {
		case <-t.Context().Done():
		case <-time.After(time.Millisecond):
		}
	}
}

// TestHangUp: who does not wait for the answer leaves nothing behind.
func TestHangUp(t *testing.T) {
	s := serve(t, func(*discovery.API) {})
	c := s.dial(t)
	say(t, c, waiting)
	s.wait(t, 1)

	_ = c.Close()

	s.wait(t, 0)
	s.stop()
	if log := s.log.String(); !strings.Contains(log, "status=499") {
		t.Errorf("the log does not say so: %s", log)
	}
}

// TestSlowClients are cut off, in the middle of a head or of a body.
func TestSlowClients(t *testing.T) {
	s := serve(t, func(a *discovery.API) { a.Hurry(200*time.Millisecond, 10) })
	for name, begun := range map[string]string{
		"nothing": "", "head": "GET /v1/proxies HTTP/1.1\r\nHost: a\r\nX-A", "body": waiting[:len(waiting)-1],
	} {
		c := s.dial(t)
		say(t, c, begun)
		text, err := io.ReadAll(c)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: it waits for more", name)
		}
		if name == "body" && !strings.Contains(string(text), "came too slowly") {
			t.Errorf("%s: it says %q", name, text)
		}
	}
}

// TestLargeHead is refused before it is read.
func TestLargeHead(t *testing.T) {
	s := serve(t, func(*discovery.API) {})
	c := s.dial(t)
	say(t, c, "GET /healthz HTTP/1.1\r\nHost: a\r\nX-A: "+strings.Repeat("a", 24<<10)+"\r\n\r\n")

	if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || resp.StatusCode != 431 {
		t.Errorf("it answers %v, %v", resp, err)
	} else {
		_ = resp.Body.Close()
	}
}

// TestCrowd: a new connection takes the place of one that is idle, never of one that is not.
func TestCrowd(t *testing.T) {
	s := serve(t, func(a *discovery.API) { a.Hurry(20*time.Second, 2) })
	busy, idle := s.dial(t), s.dial(t)
	say(t, busy, waiting)
	s.wait(t, 1)
	ping := "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
	say(t, idle, ping)
	hear(t, idle)

	third := s.dial(t)
	say(t, third, ping)
	if status, _, body := hear(t, third); status != 200 {
		t.Errorf("the third gets %d %s", status, body)
	}

	if n, err := idle.Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the idle one is still there: %d, %v", n, err)
	}
	if s.inside.Load() != 1 {
		t.Error("the busy one is gone")
	}
}

// TestChunks: a body without a length is read as far as is allowed, and no further.
func TestChunks(t *testing.T) {
	s := serve(t, func(*discovery.API) {})
	head := "POST /v1/leases HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + token + "\r\nTransfer-Encoding: chunked\r\n\r\n"
	small, large := s.dial(t), s.dial(t)

	say(t, small, head+"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n")
	say(t, large, head+"10001\r\n"+strings.Repeat(" ", 0x10001)+"\r\n")

	if status, _, body := hear(t, small); status != 201 {
		t.Errorf("the small one gets %d %s", status, body)
	}
	if status, code, body := hear(t, large); status != 413 || code != "too_large" {
		t.Errorf("the large one gets %d %s", status, body)
	}
}
