package proxy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// dress puts both ends of a connection into what a test is about.
type dress struct {
	name  string
	inner func(net.Conn) net.Conn // the end that the relay is given, which is the TLS server
	outer func(net.Conn) net.Conn
	polls bool
	apart bool // on goroutines, where it could be on a loop
}

var dresses = []dress{
	{name: "tcp", inner: same, outer: same, polls: true},
	{name: "tls", inner: wrappedTLS, outer: tlsClient, polls: true},
	{name: "tls12", inner: func(c net.Conn) net.Conn { return tls.Server(Wrap(c), tls12(serverTLS())) }, outer: tlsClient, polls: true},
	{name: "tcp-apart", inner: same, outer: same, polls: true, apart: true},
	{name: "tls-apart", inner: wrappedTLS, outer: tlsClient, polls: true, apart: true},
	{name: "bare-tls", inner: bareTLS, outer: tlsClient},
	{name: "tls-client", inner: func(c net.Conn) net.Conn { return tlsClient(Wrap(c)) }, outer: bareTLS, polls: true},
}

func wrappedTLS(c net.Conn) net.Conn { return bareTLS(Wrap(c)) }

func bareTLS(c net.Conn) net.Conn { return tls.Server(c, serverTLS()) }

func same(c net.Conn) net.Conn { return c }

func tlsClient(c net.Conn) net.Conn {
	return tls.Client(c, &tls.Config{InsecureSkipVerify: true})
}

func tls12(c *tls.Config) *tls.Config {
	c.MaxVersion = tls.VersionTLS12
	return c
}

// serverTLS has a new certificate each process.
func serverTLS() *tls.Config { return &tls.Config{Certificates: []tls.Certificate{certificate()}} }

var certificate = sync.OnceValue(func() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
})

// connect returns both ends of a TCP connection on loopback.
func connect(t testing.TB) (dialled, accepted *net.TCPConn) {
	t.Helper()
	ln := listen(t)
	defer ln.Close()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	s, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for _, end := range []net.Conn{c, s} {
		_ = end.SetDeadline(time.Now().Add(patience))
	}
	return c.(*net.TCPConn), s.(*net.TCPConn)
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

// session is a relay with the far ends of its two connections.
type session struct {
	*Relay
	a, b   net.Conn // what the peers hold
	rawA   *net.TCPConn
	rawB   *net.TCPConn
	result func() Result // waits
}

// relayed starts a relay whose a side wears d; b is plain.
func relayed(t testing.TB, d dress, o Options) *session {
	t.Helper()
	rawA, inA := connect(t)
	inB, rawB := connect(t)
	s := &session{Relay: NewRelay(d.inner(inA), inB, o), a: d.outer(rawA), b: rawB, rawA: rawA, rawB: rawB}
	s.apart = d.apart
	done := make(chan Result, 1)
	go func() { done <- s.Run(t.Context()) }()
	s.result = sync.OnceValue(func() Result {
		t.Helper()
		select {
		case r := <-done:
			return r
		case <-time.After(patience):
			t.Fatal("the relay does not end")
			return Result{}
		}
	})
	t.Cleanup(func() {
		_ = rawA.Close()
		_ = rawB.Close()
		s.result()
	})
	if c, ok := s.a.(*tls.Conn); ok {
		if err := c.Handshake(); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// send writes all of text.
func send(t testing.TB, to net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(to, text); err != nil {
		t.Fatal(err)
	}
}

// expect reads exactly text.
func expect(t testing.TB, from net.Conn, text string) {
	t.Helper()
	got := make([]byte, len(text))
	if n, err := io.ReadFull(from, got); err != nil || string(got) != text {
		t.Fatalf("read %q, %v; want %q", got[:n], err, text)
	}
}

// expectEnd reads the end of the stream, and nothing before it.
func expectEnd(t testing.TB, from net.Conn) {
	t.Helper()
	if rest, err := io.ReadAll(from); err != nil || len(rest) > 0 {
		t.Fatalf("read %q, %v; want the end of the stream", rest, err)
	}
}

// eventually waits until what it is given is true.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !is(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not after %v", what, patience)
		}
	}
}

func each(t *testing.T, test func(t *testing.T, d dress)) {
	for _, d := range dresses {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			test(t, d)
		})
	}
}
