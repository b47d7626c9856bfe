package load_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/load"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// asServer makes the test binary a server in a process of its own, so that the
// benchmark measures the generator alone.
const asServer = "LOAD_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		serveAlone()
		return
	}
	goleak.VerifyTestMain(m)
}

const (
	ms   = lab.Moment(time.Millisecond)
	long = lab.Moment(time.Minute)
)

// clock returns the time since now.
func clock() func() lab.Moment {
	start := time.Now()
	return func() lab.Moment { return lab.Moment(time.Since(start)) }
}

// twenty is a load of 20 requests within 100 ms.
func twenty(address string) load.Options {
	return load.Options{Address: address, Rate: 200, Length: 100 * ms, Timeout: long, Clock: clock()}
}

// run runs a load to its end.
func run(t *testing.T, o load.Options) []lab.Request {
	t.Helper()
	requests, err := load.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return requests
}

// count counts outcomes.
func count(requests []lab.Request) map[lab.Outcome]int {
	counts := make(map[lab.Outcome]int)
	for _, r := range requests {
		counts[r.Outcome]++
	}
	return counts
}

// backend answers as backends do.
func backend(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(proxy.HeaderBackend, "a")
	w.Header().Set(proxy.HeaderRequest, r.Header.Get(proxy.HeaderRequest))
	fmt.Fprintln(w, "a", r.Header.Get(proxy.HeaderRequest))
}

// serve runs a real HTTP server and returns its address.
func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// peer is one connection as a server that misbehaves sees it.
type peer struct {
	*net.TCPConn
	in *bufio.Reader
}

// request reads one request; 0 once there is none.
func (p *peer) request() uint64 {
	r, err := http.ReadRequest(p.in)
	if err != nil {
		return 0
	}
	id, _ := strconv.ParseUint(r.Header.Get(proxy.HeaderRequest), 10, 64)
	return id
}

// whole is the answer to the request with that id.
func whole(id uint64) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\n%s: a\r\n%s: %d\r\nContent-Length: 5\r\n\r\nhello", proxy.HeaderBackend, proxy.HeaderRequest, id)
}

// say sends text; what the client does then is for the client to tell.
func (p *peer) say(text string) { _, _ = p.Write([]byte(text)) }

// reset closes p without a goodbye.
func (p *peer) reset() {
	_ = p.SetLinger(0)
	_ = p.Close()
}

// peers runs a server that gives each connection to f, and closes it after that. At the
// end of the test all connections are closed.
func peers(t *testing.T, f func(*peer)) string {
	t.Helper()
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var open []*net.TCPConn
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.AcceptTCP()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
			running.Go(func() {
				defer conn.Close()
				f(&peer{conn, bufio.NewReader(conn)})
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for _, conn := range open {
			_ = conn.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return listener.Addr().String()
}
