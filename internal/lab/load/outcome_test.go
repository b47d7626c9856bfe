package load_test

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/load"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

func TestAnswered(t *testing.T) {
	requests := run(t, twenty(serve(t, backend)))
	if len(requests) != 20 {
		t.Fatalf("%d requests", len(requests))
	}
	for n, r := range requests {
		if r.ID != uint64(n+1) || r.Due != requests[0].Due+lab.Moment(n)*5*ms {
			t.Errorf("request %d: id %d, due %v", n, r.ID, r.Due)
		}
		if r.Outcome != lab.Answered || r.Backend != "a" || r.Code != 200 || r.Sent < r.Due || r.Done <= r.Sent {
			t.Errorf("request %d: %+v", n, r)
		}
	}
}

// TestOutcomesOfAnswers: what comes back whole is an answer only if it is a backend's
// to this very request.
func TestOutcomesOfAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    lab.Request
	}{
		"the proxy's own error": {
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
			lab.Request{Outcome: lab.Status, Code: 503},
		},
		"the proxy's own page": {
			func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("welcome")) },
			lab.Request{Outcome: lab.Status, Code: 200},
		},
		"a backend's error": {
			func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set(proxy.HeaderBackend, "a")
				w.Header().Set(proxy.HeaderRequest, r.Header.Get(proxy.HeaderRequest))
				w.WriteHeader(http.StatusBadGateway)
			},
			lab.Request{Outcome: lab.Status, Code: 502, Backend: "a"},
		},
		"an answer to somebody else": {
			func(w http.ResponseWriter, r *http.Request) {
				r.Header.Set(proxy.HeaderRequest, "1000")
				backend(w, r)
			},
			lab.Request{Outcome: lab.Status, Code: 200, Backend: "a"},
		},
		"an answer in chunks": {
			func(w http.ResponseWriter, r *http.Request) {
				backend(w, r)
				w.(http.Flusher).Flush()
				_, _ = w.Write([]byte("more"))
			},
			lab.Request{Outcome: lab.Answered, Code: 200, Backend: "a"},
		},
		"hints first": {
			func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusEarlyHints)
				backend(w, r)
			},
			lab.Request{Outcome: lab.Answered, Code: 200, Backend: "a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range run(t, twenty(serve(t, c.handler))) {
				got := lab.Request{Outcome: r.Outcome, Code: r.Code, Backend: r.Backend}
				if got != c.want {
					t.Fatalf("got %+v, want %+v", got, c.want)
				}
			}
		})
	}
}

// TestBrokenAnswersAreReset: not one byte may be missing, however the connection ends.
func TestBrokenAnswersAreReset(t *testing.T) {
	for name, f := range map[string]func(p *peer){
		"closed before the answer": func(p *peer) { p.request() },
		"reset before the answer": func(p *peer) {
			p.request()
			p.reset()
		},
		"closed within the header": func(p *peer) { p.say(whole(p.request())[:40]) },
		"closed before the last byte": func(p *peer) {
			text := whole(p.request())
			p.say(text[:len(text)-1])
		},
		"no length, closed": func(p *peer) {
			p.request()
			p.say("HTTP/1.1 200 OK\r\n" + proxy.HeaderBackend + ": a\r\n\r\nhel")
		},
		"no HTTP": func(p *peer) {
			p.request()
			p.say("220 mail.example ESMTP\r\n")
		},
		"endless provisional answers": func(p *peer) {
			p.request()
			for range 1000 {
				p.say("HTTP/1.1 102 Processing\r\n\r\n")
			}
		},
		"an endless header": func(p *peer) {
			p.request()
			p.say("HTTP/1.1 200 OK\r\nX: ")
			for range 3000 {
				p.say(string(make([]byte, 1024)))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := count(run(t, twenty(peers(t, f))))
			if diff := cmp.Diff(map[lab.Outcome]int{lab.Reset: 20}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestResetWithinTheAnswer: the client has begun to read when the connection breaks.
func TestResetWithinTheAnswer(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		backend(w, r)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	if diff := cmp.Diff(map[lab.Outcome]int{lab.Reset: 20}, count(run(t, twenty(address)))); diff != "" {
		t.Error(diff)
	}
}

func TestRefused(t *testing.T) {
	// A port that is bound and does not listen refuses, and nobody else gets it.
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(socket) }()
	if err := unix.Bind(socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(socket)
	if err != nil {
		t.Fatal(err)
	}
	address := (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: name.(*unix.SockaddrInet4).Port}).String()
	if diff := cmp.Diff(map[lab.Outcome]int{lab.Refused: 20}, count(run(t, twenty(address)))); diff != "" {
		t.Error(diff)
	}
}

// TestTimedOut: whoever hangs, the client gives up Timeout after the request was due.
func TestTimedOut(t *testing.T) {
	never := func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	hang := peers(t, func(p *peer) {
		p.request()
		p.request()
	})
	half := peers(t, func(p *peer) {
		p.say(whole(p.request())[:60])
		p.request()
	})
	// Broken off within a word and within the body.
	body := peers(t, func(p *peer) {
		text := whole(p.request())
		p.say(text[:len(text)-1])
		p.request()
	})
	for name, o := range map[string]load.Options{
		"half a body":    twenty(body),
		"no answer":      twenty(hang),
		"half an answer": twenty(half),
		"no connection":  {Address: hang, Rate: 200, Length: 100 * ms, Clock: clock(), Dial: never},
	} {
		t.Run(name, func(t *testing.T) {
			o.Timeout = 100 * ms
			requests := run(t, o)
			if diff := cmp.Diff(map[lab.Outcome]int{lab.TimedOut: 20}, count(requests)); diff != "" {
				t.Error(diff)
			}
			for _, r := range requests {
				if r.Done-r.Due < o.Timeout {
					t.Errorf("gave up %v after it was due", r.Done-r.Due)
				}
			}
		})
	}
}

// TestSlowAnswers: a byte at a time is an answer if the last one comes in time.
func TestSlowAnswers(t *testing.T) {
	address := peers(t, func(p *peer) {
		for id := p.request(); id != 0; id = p.request() {
			for _, b := range []byte(whole(id)) {
				p.say(string(b))
			}
		}
	})
	if diff := cmp.Diff(map[lab.Outcome]int{lab.Answered: 20}, count(run(t, twenty(address)))); diff != "" {
		t.Error(diff)
	}
}

// TestUnsent: at most MaxInFlight wait, and each of the others is recorded.
func TestUnsent(t *testing.T) {
	var received atomic.Int64
	o := twenty(peers(t, func(p *peer) {
		for p.request() != 0 {
			received.Add(1)
		}
	}))
	// All 20 are due before the first one times out.
	o.MaxInFlight, o.Timeout = 3, 1000*ms
	got := count(run(t, o))
	if diff := cmp.Diff(map[lab.Outcome]int{lab.TimedOut: 3, lab.Unsent: 17}, got); diff != "" {
		t.Error(diff)
	}
	if received.Load() != 3 {
		t.Errorf("the server received %d", received.Load())
	}
}

// TestNothingIsSentTwice: a server closes each connection just when its second request
// has arrived. net/http's Transport would send such a request again.
func TestNothingIsSentTwice(t *testing.T) {
	var mu sync.Mutex
	seen := make(map[uint64]int)
	note := func(id uint64) {
		mu.Lock()
		defer mu.Unlock()
		seen[id]++
	}
	o := twenty(peers(t, func(p *peer) {
		first := p.request()
		note(first)
		p.say(whole(first))
		if second := p.request(); second != 0 {
			note(second)
		}
	}))
	// One connection: each odd request is its first, each even one its last.
	o.Kept, o.FreshEvery, o.MaxInFlight = 1, -1, 1
	requests := run(t, o)
	unsent := count(requests)[lab.Unsent]
	mu.Lock()
	defer mu.Unlock()
	for _, r := range requests {
		if want := map[bool]int{true: 0, false: 1}[r.Outcome == lab.Unsent]; seen[r.ID] != want {
			t.Errorf("request %d, %s, was received %d times", r.ID, r.Outcome, seen[r.ID])
		}
	}
	sent := 20 - unsent
	if diff := cmp.Diff(map[lab.Outcome]int{lab.Answered: (sent + 1) / 2, lab.Reset: sent / 2}, count(sentOnly(requests))); diff != "" {
		t.Error(diff)
	}
}

func sentOnly(requests []lab.Request) []lab.Request {
	var sent []lab.Request
	for _, r := range requests {
		if r.Outcome != lab.Unsent {
			sent = append(sent, r)
		}
	}
	return sent
}
