package load

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// TestClosedWhileIdle: nobody loses a request on a connection of which everybody could
// see that it will answer no more.
func TestClosedWhileIdle(t *testing.T) {
	for name, end := range map[string]func(*net.TCPConn){
		"closed": func(c *net.TCPConn) { _ = c.Close() },
		"reset": func(c *net.TCPConn) {
			_ = c.SetLinger(0)
			_ = c.Close()
		},
		"half closed": func(c *net.TCPConn) { _ = c.CloseWrite() },
		"sent away": func(c *net.TCPConn) {
			_, _ = c.Write([]byte("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, accepted := single(t)
			first := askOne(t, c, 1)
			conn := c.pool.idle[0]
			if !conn.quiet() {
				t.Fatal("it is not quiet before the server ends it")
			}
			end(<-accepted)
			for give := time.Now().Add(10 * time.Second); conn.quiet(); {
				if time.Now().After(give) {
					t.Fatal("nothing is noticed")
				}
			}
			second := askOne(t, c, 3)
			if first.Outcome != lab.Answered || second.Outcome != lab.Answered {
				t.Errorf("%s, then %s", first.Outcome, second.Outcome)
			}
			if len(c.pool.open) != 1 || c.pool.kept != 1 || c.pool.idle[0] == conn {
				t.Errorf("the pool knows %d connections", len(c.pool.open))
			}
		})
	}
}

// TestPoolCountsWhatIsOpen: whatever happens to requests.
func TestPoolCountsWhatIsOpen(t *testing.T) {
	c, _ := single(t)
	for id, want := range []lab.Outcome{lab.Answered, lab.Reset, lab.Answered, lab.Reset, lab.Answered} {
		r := askOne(t, c, uint64(id+1))
		kept := 0
		if want == lab.Answered {
			kept = 1
		}
		if r.Outcome != want || len(c.pool.open) != kept || c.pool.kept != kept || len(c.pool.idle) != kept {
			t.Errorf("%s: open %d, kept %d, idle %d", r.Outcome, len(c.pool.open), c.pool.kept, len(c.pool.idle))
		}
	}
	c.pool.close()
	if r := askOne(t, c, 7); r.Outcome == lab.Answered || len(c.pool.idle) != 0 {
		t.Errorf("after the end: %s, idle %d", r.Outcome, len(c.pool.idle))
	}
}

// single returns a client that keeps one connection, and the server's ends of those it
// opens. Even requests are broken off.
func single(t *testing.T) (*client, <-chan *net.TCPConn) {
	t.Helper()
	accepted := make(chan *net.TCPConn, 10)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(proxy.HeaderRequest)
		if n, _ := strconv.Atoi(id); n%2 == 0 {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set(proxy.HeaderBackend, "a")
		w.Header().Set(proxy.HeaderRequest, id)
	}))
	server.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateNew {
			accepted <- c.(*net.TCPConn)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	start := time.Now()
	o, err := Options{
		Address: server.Listener.Addr().String(), Rate: 1, Length: 1, Timeout: MaxTimeout,
		Clock: func() lab.Moment { return lab.Moment(time.Since(start)) }, Kept: 1, FreshEvery: -1,
	}.complete()
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(o)
	t.Cleanup(c.pool.close)
	return c, accepted
}

func askOne(t *testing.T, c *client, id uint64) lab.Request {
	t.Helper()
	r := lab.Request{ID: id, Due: c.Clock()}
	c.ask(t.Context(), &r)
	return r
}
