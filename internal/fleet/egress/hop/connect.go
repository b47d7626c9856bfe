package hop

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/destination"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/socks5"
)

// Authorization is the value of Proxy-Authorization; empty where the proxy asks for none.
func (p Proxy) Authorization() string {
	if p.Username == "" && p.Password == "" {
		return ""
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(p.Username+":"+p.Password))
}

// Address is HOST:PORT.
func (p Proxy) Address() string { return net.JoinHostPort(p.Host, strconv.Itoa(p.Port)) }

// connect asks an HTTP proxy for a tunnel (RFC 9110, 9.3.6).
func (c *Conn) connect(p Proxy, to destination.Target) error {
	status, header, err := c.ask("CONNECT "+to.String(), to.String(), p)
	switch {
	case err != nil:
		return err
	case status >= 200 && status <= 299:
		return nil
	}
	return Refused(status, header)
}

// ask sends a request without content, and reads the head of its answer. What comes after
// the head is read next from the connection.
func (c *Conn) ask(line, host string, p Proxy) (status int, header http.Header, err error) {
	head := line + " HTTP/1.1\r\nHost: " + host + "\r\n"
	if a := p.Authorization(); a != "" {
		head += "Proxy-Authorization: " + a + "\r\n"
	}
	if _, err := io.WriteString(c, head+"\r\n"); err != nil {
		return 0, nil, err
	}
	in := c.reader()
	// As for HEAD: what the connection brings next is not the content of this answer.
	resp, err := http.ReadResponse(in, &http.Request{Method: http.MethodHead})
	switch {
	case err == nil:
		_ = resp.Body.Close()
		rest, _ := in.Peek(in.Buffered())
		c.base.Unread(rest)
		return resp.StatusCode, resp.Header, nil
	case isConnection(err):
		return 0, nil, err
	}
	return 0, nil, &Error{RefusalError: forward.RefusalError{
		Status: http.StatusBadGateway, Kind: "http_protocol_error", Reply: socks5.GeneralFailure,
		Text: "the leased proxy's answer cannot be understood",
	}, Proxy: true}
}

func isConnection(err error) bool {
	_, ok := errors.AsType[net.Error](err)
	return ok || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// maxHead is how long the head of a proxy's answer may be.
const maxHead = 16 << 10

// reader gives what was read too far back to the connection, or reads no further: bytes
// cannot be given back into TLS, which has a buffer of its own.
func (c *Conn) reader() *bufio.Reader {
	if c.Conn == net.Conn(c.base) {
		return bufio.NewReaderSize(io.LimitReader(c.base, maxHead), 4<<10)
	}
	return bufio.NewReaderSize(io.LimitReader(oneByte{c.Conn}, maxHead), 16)
}

// oneByte reads a byte at a time.
type oneByte struct{ io.Reader }

func (r oneByte) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(1, len(p))]) }

// Refused is what an answer of a proxy, to a request that it did not carry out, means.
func Refused(status int, header http.Header) *Error {
	e := &Error{Status: header.Values("Proxy-Status")}
	e.RefusalError = forward.RefusalError{Status: status, Kind: "destination_unavailable", Reply: socks5.GeneralFailure, Text: "the leased proxy answers " + strconv.Itoa(status)}
	switch status {
	case http.StatusProxyAuthRequired:
		e.Proxy, e.RefusalError.Status, e.Kind = true, http.StatusBadGateway, "proxy_configuration_error"
		e.Text = "the leased proxy refuses the credentials of the lease"
	case http.StatusForbidden:
		e.Kind, e.Reply = "http_request_denied", socks5.NotAllowed
	case http.StatusGatewayTimeout:
		e.Kind, e.Reply = "connection_timeout", socks5.TTLExpired
	case http.StatusBadGateway:
		e.Reply = socks5.HostUnreachable
	case http.StatusServiceUnavailable:
	default:
		e.RefusalError.Status = http.StatusBadGateway
	}
	if kind := lastError(e.Status); kind != "" && !e.Proxy {
		e.Kind = kind
		if reply, known := replies[kind]; known {
			e.Reply = reply
		}
	}
	return e
}

// replies of SOCKS by error types of RFC 9209.
var replies = map[string]socks5.Reply{
	"connection_refused": socks5.ConnectionRefused, "dns_error": socks5.HostUnreachable, "dns_timeout": socks5.HostUnreachable,
	"connection_timeout": socks5.TTLExpired, "destination_ip_unroutable": socks5.NetworkUnreachable, "destination_ip_prohibited": socks5.NotAllowed,
	"http_request_denied": socks5.NotAllowed,
}

// Present shows a proxy the credentials of a lease that was renewed: what is open under the
// lease goes on until their end.
func Present(ctx context.Context, p Proxy) error {
	c, err := Dial(ctx, p)
	if err != nil {
		return err
	}
	defer func() { _ = c.base.Close() }()
	return c.talk(ctx, func() error {
		if p.Scheme == SOCKS {
			return c.greet(p)
		}
		status, header, err := c.ask("OPTIONS *", p.Address(), p)
		if err == nil && status == http.StatusProxyAuthRequired {
			return Refused(status, header)
		}
		return err
	})
}
