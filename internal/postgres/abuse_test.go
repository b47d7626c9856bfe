package postgres_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/session"
	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
)

// dial connects to a router, and writes.
func dial(t *testing.T, address, first string) net.Conn {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := errors.Join(c.SetDeadline(time.Now().Add(time.Minute)), write(c, []byte(first))); err != nil {
		t.Fatal(err)
	}
	return c
}

var sslRequest = string(pgwire.AppendSSLRequest(nil))

// A client that trickles has as long as any other for all of its startup: each byte, each
// packet and the handshake come out of one deadline.
func TestSlowClients(t *testing.T) {
	const deadline = time.Second
	router := postgres.Options{Resolver: table(t), TLS: certificate(t), StartupTimeout: deadline}
	_, address := serve(t, router)
	router.TLS = nil
	_, plain := serve(t, router)
	gssenc := "\x00\x00\x00\x08\x04\xd2\x16\x30"
	for name, c := range map[string]struct{ address, at, trickle string }{
		"nothing":                  {address, "", ""},
		"a startup packet":         {address, "", string(startup(t, strings.Repeat("b", 300)))},
		"a direct handshake":       {address, "\x16\x03\x01\x02\x00", strings.Repeat("\x01", 300)},
		"a handshake":              {address, sslRequest, "\x16\x03\x01\x02\x00" + strings.Repeat("\x01", 300)},
		"a silent handshake":       {address, sslRequest, ""},
		"after requests":           {plain, gssenc + sslRequest, string(startup(t, strings.Repeat("b", 300)))},
		"a cancel":                 {address, "", "\x00\x00\x01\x0c\x04\xd2\x16\x2e" + strings.Repeat("k", 300)},
		"a length and then nobody": {address, "\x00\x00\x27\x10", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := dial(t, c.address, c.at)
			began := time.Now()
			ended := make(chan error, 1)
			go func() { _, err := io.Copy(io.Discard, client); ended <- err }()
			tick := time.NewTicker(50 * time.Millisecond)
			defer tick.Stop()
			for i := 0; ; i++ {
				select {
				case <-ended:
					if took := time.Since(began); took < deadline/2 || took > 15*deadline {
						t.Errorf("it ends after %v", took)
					}
					return
				case <-tick.C:
					if i < len(c.trickle) {
						_, _ = client.Write([]byte{c.trickle[i]})
					}
				}
			}
		})
	}
}

// Thousands of sockets that say nothing, or half a word, keep no client out, whatever the
// limit on connections.
func TestSilentSockets(t *testing.T) {
	server := serveKey(t, aKey)
	_, address := serve(t, postgres.Options{Resolver: table(t, "orders="+server.Addr().String()), Connections: 5})
	for i := range 3000 {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if i%3 == 0 {
			_, _ = c.Write([]byte{0}) // it may have lost its place
		}
	}
	for i := range 5 {
		began := time.Now()
		_ = login(t, address, "bob.orders", aKey)
		t.Logf("client %d is in after %v", i+1, time.Since(began))
	}
}

// Bytes in clear before a handshake are not taken for what comes after it, and a failed
// handshake is no reason to speak in clear.
func TestInjection(t *testing.T) {
	server := serveKey(t, aKey)
	_, address := serve(t, postgres.Options{Resolver: table(t, "orders="+server.Addr().String()), TLS: certificate(t)})
	said := func(c net.Conn) string {
		all, _ := io.ReadAll(c) // a reset is an end too
		return string(all)
	}
	hello := clientHello(t)
	for name, early := range map[string]string{
		"a startup packet": string(startup(t, "mallory.orders")), "a byte": "\x00", "a handshake": hello, "a request": sslRequest,
	} {
		got := said(dial(t, address, sslRequest+early))
		if strings.HasPrefix(got, "S") || !strings.Contains(got, session.ProtocolViolation) {
			t.Errorf("%s in the segment of the request is answered with %q", name, got)
		}
	}
	for name, garbage := range map[string]string{
		"zeros": strings.Repeat("\x00", 100), "http": "GET / HTTP/1.1\r\n\r\n", "a startup packet": string(startup(t, "mallory.orders")),
		"half a handshake": hello[:20] + strings.Repeat("x", len(hello)-20),
	} {
		c := dial(t, address, sslRequest)
		expect(t, c, "S")
		if err := write(c, []byte(garbage)); err != nil {
			t.Fatal(err)
		}
		if got := said(c); strings.HasPrefix(got, "E") || strings.Contains(got, "FATAL") {
			t.Errorf("%s instead of a handshake is answered in clear: %q", name, got)
		}
	}
	if n := server.asked.Load(); n > 0 {
		t.Errorf("%d sessions came to the server", n)
	}
}

// Old versions of TLS are refused in the handshake.
func TestOldTLS(t *testing.T) {
	_, address := serve(t, postgres.Options{Resolver: table(t), TLS: certificate(t)})
	for _, version := range []uint16{tls.VersionTLS10, tls.VersionTLS11} {
		c := dial(t, address, sslRequest)
		expect(t, c, "S")
		err := tls.Client(c, &tls.Config{InsecureSkipVerify: true, MinVersion: version, MaxVersion: version}).HandshakeContext(t.Context())
		if err == nil || !strings.Contains(err.Error(), "protocol version") {
			t.Errorf("%s: got %v", tls.VersionName(version), err)
		}
	}
}

// clientHello is what a client begins a handshake with.
func clientHello(t *testing.T) string {
	t.Helper()
	here, there := net.Pipe()
	defer there.Close()
	go func() {
		_ = tls.Client(here, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(t.Context())
		_ = here.Close()
	}()
	hello := make([]byte, 5)
	_, err := io.ReadFull(there, hello)
	hello = append(hello, make([]byte, int(hello[3])<<8|int(hello[4]))...)
	_, restErr := io.ReadFull(there, hello[5:])
	if err != nil || restErr != nil {
		t.Fatal(err, restErr)
	}
	return string(hello)
}

// Nobody says more than this before it has logged in, and each is told so, or not at all.
func TestBadPackets(t *testing.T) {
	_, address := serve(t, postgres.Options{Resolver: table(t), TLS: certificate(t)})
	length := func(n uint32) string { return string([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}) }
	v3 := "\x00\x03\x00\x00"
	for name, c := range map[string]struct{ raw, want string }{
		"length 0": {length(0) + v3, "08P01"}, "length 7": {length(7) + v3, "08P01"},
		"two gigabytes": {length(0x7fffffff) + v3, "08P01"}, "negative": {length(0xffffffff) + v3, "08P01"},
		"one too many": {length(10_005) + v3, "08P01"}, "no last zero": {length(16) + v3 + "user\x00bob", "08P01"},
		"a name and no more": {length(14) + v3 + "user\x00\x00", "08P01"},
		"protocol 2":         {length(8) + "\x00\x02\x00\x00", "0A000"}, "protocol 4": {length(8) + "\x00\x04\x00\x00", "0A000"},
		"a request of tomorrow": {length(8) + "\x04\xd2\x16\x31", "08P01"},
		"a fifth request":       {strings.Repeat("\x00\x00\x00\x08\x04\xd2\x16\x30", 5), "08P01"},
		"a key without a value": {length(13) + v3 + "user\x00", "08P01"},
	} {
		client := dial(t, address, c.raw)
		_ = client.(*net.TCPConn).CloseWrite()
		got, _ := io.ReadAll(client)
		if !strings.Contains(string(got), c.want) {
			t.Errorf("%s: got %q, want %s", name, got, c.want)
		}
	}
	secured := tls.Client(dial(t, address, ""), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"postgresql"}})
	if _, err := io.WriteString(secured, sslRequest); err != nil {
		t.Fatal(err)
	}
	if got, _ := io.ReadAll(secured); !strings.Contains(string(got), "08P01") {
		t.Errorf("TLS within TLS: got %q", fmt.Sprint(got))
	}
}
