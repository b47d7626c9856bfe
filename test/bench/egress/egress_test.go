package egress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// clients ask at once, each over a connection of its own.
const clients = 16

// round is how many requests each client makes in a turn.
const round = 300

// BenchmarkRequests asks for a kilobyte of plain HTTP over connections that stay, in turns:
// by squid and its parent, by the super-proxy and a leased proxy, and by that proxy alone.
// It reports requests per second, the super-proxy's share of squid's, and what each adds
// to the 99th percentile of the proxy alone, of one client that asks at a time.
func BenchmarkRequests(b *testing.B) {
	w, to := start(b), target(b)
	rates, tails := map[string]float64{}, map[string]time.Duration{}
	for b.Loop() {
		for name, address := range w.all() {
			rates[name] += load(b, address, to, clients).rate
			tails[name] += load(b, address, to, 1).p99
		}
	}
	n := float64(b.N)
	for name := range w.all() {
		b.ReportMetric(rates[name]/n, name+"-req/s")
		b.ReportMetric(float64(tails[name].Microseconds())/n, name+"-p99-us")
	}
	b.ReportMetric(rates["super"]/rates["squid"], "of-squid")
	b.ReportMetric(float64((tails["super"]-tails["forward"]).Microseconds())/n, "added-p99-us")
}

func (w ways) all() map[string]string {
	return map[string]string{"forward": w.forward, "super": w.super, "squid": w.squid}
}

type measured struct {
	rate float64 // per second
	p99  time.Duration
}

// load has clients ask by a proxy.
func load(b *testing.B, proxy, to string, clients int) measured {
	b.Helper()
	var all sync.WaitGroup
	took := make([][]time.Duration, clients)
	began := time.Now()
	for i := range clients {
		all.Go(func() {
			transport := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: proxy, User: url.UserPassword("session=bench", "x")})}
			defer transport.CloseIdleConnections()
			for range round {
				at := time.Now()
				resp, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Get(to)
				if err == nil {
					err = drain(resp)
				}
				if err != nil || resp.StatusCode != http.StatusOK {
					b.Errorf("by %s: %v", proxy, err)
					return
				}
				took[i] = append(took[i], time.Since(at))
			}
		})
	}
	all.Wait()
	flat := slices.Sorted(slices.Values(slices.Concat(took...)))
	if len(flat) == 0 {
		b.Fatal("nothing was answered")
	}
	return measured{float64(len(flat)) / time.Since(began).Seconds(), flat[len(flat)*99/100]}
}

// BenchmarkTunnel carries bulk through a tunnel of each, in turns, and opens tunnels.
func BenchmarkTunnel(b *testing.B) {
	w, to := start(b), strings.TrimPrefix(target(b), "http://")
	carry, opened := map[string]time.Duration{}, map[string]time.Duration{}
	const tunnels = 200
	for b.Loop() {
		for name, address := range w.all() {
			at := time.Now()
			tunnel(b, address, to, "/bulk")
			carry[name] += time.Since(at)
			at = time.Now()
			for range tunnels {
				tunnel(b, address, to, "/")
			}
			opened[name] += time.Since(at)
		}
	}
	n := float64(b.N)
	for name := range w.all() {
		b.ReportMetric(n*bulk/1e6/carry[name].Seconds(), name+"-MB/s")
		b.ReportMetric(n*tunnels/opened[name].Seconds(), name+"-tunnels/s")
	}
	b.ReportMetric(carry["squid"].Seconds()/carry["super"].Seconds(), "of-squid-bulk")
	b.ReportMetric(opened["squid"].Seconds()/opened["super"].Seconds(), "of-squid-tunnels")
}

// tunnel opens one and asks for a path through it.
func tunnel(b *testing.B, proxy, to, path string) {
	b.Helper()
	c, err := net.Dial("tcp", proxy)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	in := bufio.NewReaderSize(c, 64<<10)
	_, _ = fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\nProxy-Authorization: Basic c2Vzc2lvbj1iZW5jaDp4\r\n\r\n", to, to)
	resp, err := http.ReadResponse(in, &http.Request{Method: http.MethodConnect}) //nolint:bodyclose // of a tunnel: it ends with the connection
	if err != nil || resp.StatusCode != http.StatusOK {
		b.Fatalf("by %s: %v %v", proxy, resp, err)
	}
	_, _ = io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	if resp, err = http.ReadResponse(in, nil); err == nil {
		err = drain(resp)
	}
	if err != nil {
		b.Fatalf("by %s: %v", proxy, err)
	}
}
