package leases

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"regexp"
	"syscall"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/test/cluster"
)

var super = regexp.MustCompile(`msg="super-proxy listens" address=(\S+)`)

// TestAnOpenTunnelHoldsUpNoEnd: the process ends in time, and what is leased is kept, while
// a client of its super-proxy goes on.
func TestAnOpenTunnelHoldsUpNoEnd(t *testing.T) {
	f := newFiles(t)
	f.write("p.yaml", external("crawl", "a", tunnels(t), ""))
	p := f.run("--egress-listen=127.0.0.1:0", "--allow-unauthenticated")
	held := p.eventually(201, "POST", "/v1/leases", `{"ttlSeconds":600}`)
	p.tunnel("shop.example:443")

	if took := p.stop(syscall.SIGTERM); took > exits {
		t.Errorf("the end took %s", took)
	}

	f.run().eventually(200, "PUT", "/v1/leases/"+held.LeaseID, `{"ttlSeconds":600}`)
}

// tunnel opens one by the super-proxy, which stays open.
func (p *process) tunnel(to string) {
	p.Helper()
	address := ""
	cluster.Until(p.T, eventually, "the super-proxy listens", func(context.Context) error {
		found := super.FindStringSubmatch(p.log.String())
		if found == nil {
			return errors.New("not yet")
		}
		address = found[1]
		return nil
	})
	c, err := new(net.Dialer).DialContext(p.Context(), "tcp", address)
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, "CONNECT "+to+" HTTP/1.1\r\nHost: "+to+"\r\n\r\n"); err != nil {
		p.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: http.MethodConnect}) //nolint:bodyclose // it is the tunnel
	if err != nil || resp.StatusCode != http.StatusOK {
		p.Fatalf("%+v, %v", resp, err)
	}
}

// tunnels is the address of a proxy whose tunnels lead nowhere, and stay open.
func tunnels(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		_, _ = io.Copy(io.Discard, c)
	})}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return l.Addr().String()
}
