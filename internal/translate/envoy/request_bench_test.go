package envoy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/test/envoytest"
)

// benchHosts is how many exact hosts the tables have: as many as either kind may.
const benchHosts = 240

// BenchmarkRequest compares what a request costs Envoy through a table that is
// looked up by host with one through a whole table, by the CPU time of all its
// threads: ratio is the median of pairs that were measured in turns.
func BenchmarkRequest(b *testing.B) {
	for name, host := range map[string]string{"exact": "h%d.example", "capitals": "H%d.Example", "wildcard": "any%d.wild.example"} {
		for answer, direct := range map[string]bool{"direct": true, "upstream": false} {
			b.Run(name+"/"+answer, func(b *testing.B) {
				whole, scoped := requestServer(b, false, direct), requestServer(b, true, direct)
				var ratios []float64
				var wholes, scopeds []time.Duration
				for b.Loop() {
					for range 7 {
						a, c := whole.cost(b, host), scoped.cost(b, host)
						wholes, scopeds, ratios = append(wholes, a), append(scopeds, c), append(ratios, float64(c)/float64(a))
					}
				}
				slices.Sort(ratios)
				slices.Sort(wholes)
				slices.Sort(scopeds)
				b.ReportMetric(ratios[len(ratios)/2], "ratio")
				b.ReportMetric(ratios[0], "ratio-min")
				b.ReportMetric(ratios[len(ratios)-1], "ratio-max")
				b.ReportMetric(float64(wholes[len(wholes)/2].Nanoseconds())/1000, "whole-µs")
				b.ReportMetric(float64(scopeds[len(scopeds)/2].Nanoseconds())/1000, "scoped-µs")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// requested is an Envoy that answers, and a connection to it.
type requested struct {
	envoy *envoytest.Envoy
	conn  net.Conn
	in    *bufio.Reader
}

func requestServer(b *testing.B, scoped, direct bool) *requested {
	b.Helper()
	at := backends(b, "a")
	route := model.Route{Name: "r", Match: prefix("/"), Status: 204}
	if !direct {
		route = model.Route{Name: "r", Match: prefix("/"), Forward: to("a")}
	}
	hosts := []model.VirtualHost{{Domain: "*.wild.example", Routes: []model.Route{route}}, {Domain: "*"}}
	for i := range benchHosts {
		hosts = append(hosts, model.VirtualHost{Domain: fmt.Sprintf("h%d.example", i), Routes: []model.Route{route}})
	}
	w := plain(hosts, at)
	w.Tables[0].Scoped = scoped
	f := serve(b, w)
	conn, err := new(net.Dialer).DialContext(b.Context(), "tcp", f.envoy.Address(httpPort))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	return &requested{f.envoy, conn, bufio.NewReader(conn)}
}

// cost is what one of some thousand requests, each for the next host, costs Envoy.
func (r *requested) cost(b *testing.B, host string) time.Duration {
	b.Helper()
	const requests = 4000
	if err := r.conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		b.Fatal(err)
	}
	before := r.envoy.CPU()
	for i := range requests {
		if _, err := fmt.Fprintf(r.conn, "GET / HTTP/1.1\r\nHost: "+host+"\r\n\r\n", i%benchHosts); err != nil {
			b.Fatal(err)
		}
		response, err := http.ReadResponse(r.in, nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			b.Fatal(err)
		}
		if err := response.Body.Close(); err != nil || response.StatusCode >= 300 {
			b.Fatalf("status %d, %v", response.StatusCode, err)
		}
	}
	return (r.envoy.CPU() - before) / requests
}
