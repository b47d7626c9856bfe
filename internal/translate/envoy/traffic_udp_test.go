package envoy

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/test/backend"
	"github.com/gatehouse-proxy/gatehouse/test/envoytest"
)

const udpPort = "shop/edge/127.0.0.1/5300/udp"

func datagrams(t testing.TB, to *model.Forward, names ...string) world {
	t.Helper()
	return forwarding(t, udpPort, model.Listener{Gateway: edge, Port: 5300, Protocol: model.UDP, Stream: to}, model.UpstreamUDP, names, func(name string) (netip.AddrPort, io.Closer, error) {
		b, err := backend.StartUDP(t.Context(), name, "127.0.0.1:0")
		if err != nil {
			return netip.AddrPort{}, nil, err
		}
		return b.Addr, b, nil
	})
}

// client is a socket of its own; from is "address:port" of it.
func client(t testing.TB, from, to string) *net.UDPConn {
	t.Helper()
	local, err := net.ResolveUDPAddr("udp", from)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := (&net.Dialer{LocalAddr: local}).DialContext(t.Context(), "udp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn.(*net.UDPConn)
}

// sendAndHear sends a datagram and returns who answered, and with what.
func sendAndHear(t testing.TB, c *net.UDPConn, text []byte) (string, []byte) {
	t.Helper()
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(text); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 1<<16)
	n, err := c.Read(answer)
	if err != nil {
		t.Fatal(err)
	}
	name, rest, _ := bytes.Cut(answer[:n], []byte("\n"))
	return string(name), rest
}

// ears hear for many clients at once.
type ears struct {
	mu    sync.Mutex
	heard map[string]int // by backend
	done  sync.WaitGroup
}

// listen hears one answer for a client, until its socket is closed.
func (e *ears) listen(c *net.UDPConn) {
	e.done.Go(func() {
		answer := make([]byte, 1<<16)
		n, err := c.Read(answer)
		if err != nil {
			return
		}
		name, _, _ := strings.Cut(string(answer[:n]), "\n")
		e.mu.Lock()
		defer e.mu.Unlock()
		e.heard[name]++
	})
}

func (e *ears) count() (total int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, n := range e.heard {
		total += n
	}
	return total
}

// survey sends a datagram from each client and counts by backend; what Envoy says it
// dropped counts for "".
func survey(t testing.TB, e *envoytest.Envoy, clients []*net.UDPConn) map[string]int {
	t.Helper()
	before := dropped(t, e)
	all := &ears{heard: map[string]int{}}
	sent := 0
	// No more at once than a socket's buffer takes by default.
	for some := range slices.Chunk(clients, 64) {
		for _, c := range some {
			all.listen(c)
			if _, err := c.Write([]byte("hello")); err != nil {
				t.Fatal(err)
			}
		}
		sent += len(some)
		await(t, func() bool { return all.count()+dropped(t, e)-before == sent })
	}
	for _, c := range clients {
		_ = c.Close()
	}
	all.done.Wait()
	if n := dropped(t, e) - before; n > 0 {
		all.heard[""] = n
	}
	return all.heard
}

func await(t testing.TB, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); {
		if time.Now().After(deadline) {
			t.Fatal("not every datagram was answered or dropped")
		}
		<-time.After(time.Millisecond)
	}
}

func dropped(t testing.TB, e *envoytest.Envoy) (n int) {
	t.Helper()
	for line := range strings.Lines(string(e.Admin("/stats?filter=downstream_sess_no_route"))) {
		_, value, _ := strings.Cut(line, ": ")
		var here int
		_, _ = fmt.Sscan(value, &here)
		n += here
	}
	return n
}

func TestDatagrams(t *testing.T) {
	share := func(name string, weight uint32) model.WeightedBackend {
		return model.WeightedBackend{Cluster: backendID(name), Weight: weight}
	}
	cases := []struct {
		name string
		to   *model.Forward
		want map[string]float64
	}{
		{"one", split(share("a", 1)), map[string]float64{"a": 1}},
		{"weighted", split(share("a", 70), share("b", 30)), map[string]float64{"a": 0.7, "b": 0.3}},
		{"zero", split(share("a", 0), share("b", 1)), map[string]float64{"b": 1}},
		{"missing share", split(share("a", 1), share("", 4), share("b", 5)), map[string]float64{"a": 0.1, "": 0.4, "b": 0.5}},
		{"missing", split(share("", 1)), map[string]float64{"": 1}},
		{"none", nil, map[string]float64{"": 1}},
	}
	const n = 320
	// While it is held, nobody is given its port.
	held := client(t, "127.0.0.1:0", "127.0.0.1:9").LocalAddr().(*net.UDPAddr).Port
	sources := map[string]func(i int) string{
		"many ports":     func(int) string { return "127.0.0.1:0" },
		"many addresses": func(i int) string { return fmt.Sprintf("127.0.%d.%d:%d", 1+i/250, 1+i%250, held) },
	}
	for _, c := range cases {
		for from, source := range sources {
			t.Run(c.name+" from "+from, func(t *testing.T) {
				f := serve(t, datagrams(t, c.to, "a", "b"))
				at := f.envoy.Address(udpPort)
				var clients []*net.UDPConn
				for i := range n {
					clients = append(clients, client(t, source(i), at))
				}
				count := survey(t, f.envoy, clients)
				for _, name := range []string{"a", "b", ""} {
					// Four standard deviations of a fair draw are 0.11, and one turn of many addresses is 0.06.
					if got, want := float64(count[name])/n, c.want[name]; got < want-0.17 || got > want+0.17 || want == 0 && got != 0 {
						t.Errorf("%q got %.2f of the datagrams, want %.2f", name, got, want)
					}
				}
			})
		}
	}
}

// TestDatagramsOfOneClient: they stay together, whatever their size.
func TestDatagramsOfOneClient(t *testing.T) {
	w := datagrams(t, split(model.WeightedBackend{Cluster: backendID("a"), Weight: 1}, model.WeightedBackend{Cluster: backendID("b"), Weight: 1}), "a", "b")
	f := serve(t, w)
	c := client(t, "127.0.0.1:0", f.envoy.Address(udpPort))
	first, _ := sendAndHear(t, c, []byte("hello"))
	for _, size := range []int{0, 1, 1500, 9000, 60000} {
		text := bytes.Repeat([]byte("x"), size)
		if name, got := sendAndHear(t, c, text); name != first || !bytes.Equal(got, text) {
			t.Errorf("%d bytes: %d came back from %s, want all from %s", size, len(got), name, first)
		}
	}
}
