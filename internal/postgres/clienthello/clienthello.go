// Package clienthello reads what a TLS client says first and answers nothing, so that the
// same bytes can be given to somebody else. It is crypto/tls that reads them; here they
// are only kept, and what it would answer is not sent.
package clienthello

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"github.com/gatehouse-proxy/gatehouse/pkg/proxy"
)

// Max is how many bytes a client may send until its hello is complete: far more than
// those in use have, large keys included.
const Max = 16 << 10

// ErrTooLong says that Max bytes were not enough.
var ErrTooLong = fmt.Errorf("a TLS ClientHello that is longer than %d bytes", Max)

// Hello is what a client says first.
type Hello struct {
	// ServerName is the host that it wants, empty if it names none.
	ServerName string
	// Protocols are those that it names by ALPN.
	Protocols []string
	// Raw are all bytes that were read: the hello, however it was cut into records and
	// segments, and what came with it.
	Raw []byte
}

// errHeard ends the handshake in crypto/tls once the hello has been read.
var errHeard = errors.New("heard")

// Read reads a hello from c, within its deadline; the end of ctx closes c. Its error is
// that of reading c, ErrTooLong, or that of what is no hello; Raw is what was read then.
func Read(ctx context.Context, c net.Conn) (Hello, error) {
	r := &recorder{Conn: c}
	var hello Hello
	listener := tls.Server(r, &tls.Config{
		MinVersion: tls.VersionTLS10, // whose hello it is matters to the server alone
		GetConfigForClient: func(heard *tls.ClientHelloInfo) (*tls.Config, error) {
			hello.ServerName, hello.Protocols = heard.ServerName, heard.SupportedProtos
			return nil, errHeard
		},
	})
	err := proxy.Handshake(ctx, listener)
	hello.Raw = r.raw
	switch {
	case errors.Is(err, errHeard):
		return hello, nil
	case r.full:
		return hello, ErrTooLong
	}
	return hello, err
}

// recorder keeps what is read, and lets nothing be written.
type recorder struct {
	net.Conn
	raw  []byte
	full bool
}

func (r *recorder) Read(p []byte) (int, error) {
	room := Max - len(r.raw)
	if room == 0 {
		r.full = true
		return 0, ErrTooLong
	}
	n, err := r.Conn.Read(p[:min(room, len(p))])
	r.raw = append(r.raw, p[:n]...)
	return n, err
}

func (r *recorder) Write(p []byte) (int, error) { return len(p), nil }
