package health

import (
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strconv"
)

// socks greets and authenticates (RFC 1928, RFC 1929), and asks for a connection to the
// target by its name, if there is one.
func (a *attempt) socks(h *hop) error {
	a.stage = greeting
	methods := []byte{5, 1, 0}
	if a.proxy.Login != nil {
		methods = []byte{5, 2, 0, 2}
	}
	answer, err := talk(h, methods, 2)
	switch {
	case err != nil:
		return err
	case answer[0] != 5:
		return found(Broken, "it does not speak SOCKS5: its first byte is %#02x", answer[0])
	case answer[1] == 2 && a.proxy.Login != nil:
		if err := a.logIn(h); err != nil {
			return err
		}
	case answer[1] == 0xff && a.proxy.Login == nil:
		return found(AuthFailed, "it asks for credentials, and spec.auth names none")
	case answer[1] != 0:
		return found(AuthFailed, "it takes no way to authenticate that there is (method %#02x)", answer[1])
	}
	if a.target == nil {
		return nil
	}
	return a.reach(h)
}

func (a *attempt) logIn(h *hop) error {
	a.stage = loggingIn
	user, password := a.credentials.Username, a.credentials.Password
	if len(user) > 255 || len(password) > 255 {
		return found(AuthFailed, "user name or password is longer than the 255 bytes that SOCKS takes")
	}
	text := append([]byte{1, byte(len(user))}, user...)
	text = append(append(text, byte(len(password))), password...)
	answer, err := talk(h, text, 2)
	if err == nil && answer[1] != 0 {
		return found(AuthFailed, "it refuses the credentials of spec.auth (SOCKS status %d)", answer[1])
	}
	return err
}

// replies of RFC 1928, section 6.
var replies = [...]string{
	"granted", "general failure", "not allowed by its rules", "network unreachable", "host unreachable",
	"connection refused", "TTL expired", "command not supported", "address type not supported",
}

// reach asks for a connection to the target.
func (a *attempt) reach(h *hop) error {
	a.stage = tunnelling
	request, err := a.connect()
	if err != nil {
		return err
	}
	answer, err := talk(h, request, 4)
	switch {
	case err != nil:
		return err
	case answer[0] != 5:
		return found(Broken, "its answer is no SOCKS5: its first byte is %#02x", answer[0])
	case answer[1] != 0 && int(answer[1]) < len(replies):
		return found(ConnectStatus, "refuses the connection to the target: %s (SOCKS reply %d)", replies[answer[1]], answer[1])
	case answer[1] != 0:
		return found(ConnectStatus, "refuses the connection to the target (SOCKS reply %d)", answer[1])
	}
	return bound(h, answer[3])
}

// connect is the request for a connection.
func (a *attempt) connect() ([]byte, error) {
	host, digits, err := net.SplitHostPort(a.address)
	port, bad := strconv.ParseUint(digits, 10, 16)
	if err != nil || bad != nil || len(host) > 255 {
		return nil, found(Broken, "healthCheck.url has no host of at most 255 bytes, or no port that is one")
	}
	request := []byte{5, 1, 0}
	switch addr, err := netip.ParseAddr(host); {
	case err != nil:
		request = append(append(request, 3, byte(len(host))), host...)
	case addr.Is4():
		request = append(append(request, 1), addr.AsSlice()...)
	default:
		request = append(append(request, 4), addr.AsSlice()...)
	}
	return binary.BigEndian.AppendUint16(request, uint16(port)), nil
}

// bound reads the address that a granted connection is bound to, which nobody needs.
func bound(h *hop, kind byte) error {
	length := 0
	switch kind {
	case 1:
		length = 4
	case 4:
		length = 16
	case 3:
		size, err := h.r.ReadByte()
		if err != nil {
			return err //nolint:wrapcheck // Probe names the stage
		}
		length = int(size)
	default:
		return found(Broken, "its answer is no SOCKS5: type of address %#02x", kind)
	}
	_, err := io.CopyN(io.Discard, h.r, int64(length)+2)
	return err //nolint:wrapcheck // Probe names the stage
}

// talk sends bytes and reads so many.
func talk(h *hop, request []byte, n int) ([]byte, error) {
	if _, err := h.Conn.Write(request); err != nil {
		return nil, err //nolint:wrapcheck // Probe names the stage
	}
	answer := make([]byte, n)
	_, err := io.ReadFull(h.r, answer)
	return answer, err //nolint:wrapcheck // Probe names the stage
}
