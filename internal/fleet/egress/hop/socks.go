package hop

import (
	"io"
	"net/http"
	"net/netip"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/destination"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/socks5"
)

// socks asks a SOCKS5 proxy for a connection (RFC 1928, 4). The proxy looks names up.
func (c *Conn) socks(p Proxy, to destination.Target) error {
	if err := c.greet(p); err != nil {
		return err
	}
	request := append([]byte{socks5.Version, 1, 0}, address(to.Host)...)
	request = append(request, byte(to.Port>>8), byte(to.Port))
	if _, err := c.Write(request); err != nil {
		return err
	}
	var head [4]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return err
	}
	if head[0] != socks5.Version {
		return garbled()
	}
	if reply := socks5.Reply(head[1]); reply != socks5.Succeeded {
		return refusedBy(reply)
	}
	return c.skipAddress(head[3])
}

// address is a host in the form of a request.
func address(host string) []byte {
	a, err := netip.ParseAddr(host)
	switch {
	case err != nil:
		return append([]byte{3, byte(len(host))}, host...) // at most 253 bytes
	case a.Is4():
		return append([]byte{1}, a.AsSlice()...)
	}
	return append([]byte{4}, a.AsSlice()...)
}

// skipAddress reads the address that the proxy connects from, and its port.
func (c *Conn) skipAddress(kind byte) error {
	size := map[byte]int64{1: 4, 4: 16}[kind]
	if kind == 3 {
		var length [1]byte
		if _, err := io.ReadFull(c, length[:]); err != nil {
			return err
		}
		size = int64(length[0])
	}
	if size == 0 {
		return garbled()
	}
	_, err := io.CopyN(io.Discard, c.Conn, size+2)
	return err
}

// greet shows the credentials (RFC 1929, 2).
func (c *Conn) greet(p Proxy) error {
	method := byte(socks5.NoAuthentication)
	if p.Username != "" {
		method = socks5.UserPassword
	}
	if _, err := c.Write([]byte{socks5.Version, 1, method}); err != nil {
		return err
	}
	var answer [2]byte
	if _, err := io.ReadFull(c, answer[:]); err != nil {
		return err
	}
	switch {
	case answer[0] != socks5.Version:
		return garbled()
	case answer[1] != method:
		return denied()
	case method == socks5.NoAuthentication:
		return nil
	}
	return c.showPassword(p)
}

func (c *Conn) showPassword(p Proxy) error {
	if len(p.Username) > 255 || len(p.Password) > 255 {
		return denied()
	}
	login := append([]byte{1, byte(len(p.Username))}, p.Username...)
	login = append(append(login, byte(len(p.Password))), p.Password...)
	if _, err := c.Write(login); err != nil {
		return err
	}
	var answer [2]byte
	if _, err := io.ReadFull(c, answer[:]); err != nil {
		return err
	}
	if answer[1] != 0 {
		return denied()
	}
	return nil
}

func garbled() error {
	return &Error{RefusalError: forward.RefusalError{
		Status: http.StatusBadGateway, Kind: "http_protocol_error", Reply: socks5.GeneralFailure,
		Text: "the leased proxy does not speak SOCKS version 5",
	}, Proxy: true}
}

func denied() error {
	return Refused(http.StatusProxyAuthRequired, nil)
}

// refusedBy is what a reply says in words of HTTP.
func refusedBy(reply socks5.Reply) error {
	r := forward.RefusalError{Status: http.StatusBadGateway, Kind: "destination_unavailable", Reply: reply, Text: "the leased proxy cannot connect to the target"}
	switch reply { //nolint:exhaustive // the others say no more
	case socks5.NotAllowed:
		r.Status, r.Kind, r.Text = http.StatusForbidden, "http_request_denied", "the leased proxy does not allow this destination"
	case socks5.NetworkUnreachable, socks5.HostUnreachable:
		r.Kind, r.Text = "destination_ip_unroutable", "the leased proxy cannot reach the target"
	case socks5.ConnectionRefused:
		r.Kind, r.Text = "connection_refused", "the target refuses the connection"
	case socks5.TTLExpired:
		r.Status, r.Kind, r.Text = http.StatusGatewayTimeout, "connection_timeout", "the target took too long"
	}
	return &Error{RefusalError: r}
}
