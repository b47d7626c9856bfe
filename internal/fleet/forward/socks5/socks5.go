package socks5

import (
	"encoding/binary"
	"errors"
	"io"
	"net/netip"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/destination"
)

// Version is the first byte of a client's first message.
const Version = 5

// Methods of authentication.
const (
	NoAuthentication = 0x00
	UserPassword     = 0x02
	NoneAcceptable   = 0xff
)

// Reply is what a request is answered with.
type Reply byte

// Replies (RFC 1928, 6).
const (
	Succeeded           Reply = 0x00
	GeneralFailure      Reply = 0x01
	NotAllowed          Reply = 0x02
	NetworkUnreachable  Reply = 0x03
	HostUnreachable     Reply = 0x04
	ConnectionRefused   Reply = 0x05
	TTLExpired          Reply = 0x06
	CommandNotSupported Reply = 0x07
	AddressNotSupported Reply = 0x08
	connectCommand            = 0x01
	userPasswordVersion       = 0x01
	addressIPv4               = 0x01
	addressDomain             = 0x03
	addressIPv6               = 0x04
)

// ErrForm means that a message is not of the protocol: nothing can be answered.
var ErrForm = errors.New("not a message of SOCKS version 5")

// RefusedError is a request that was understood and is answered with a Reply.
type RefusedError struct{ Reply Reply }

func (e *RefusedError) Error() string {
	switch e.Reply {
	case CommandNotSupported:
		return "only the command CONNECT is supported"
	case AddressNotSupported:
		return "an unknown type of address"
	default:
		return "an invalid host name or port"
	}
}

// ReadGreeting returns the methods that a client offers. Its errors are [ErrForm] and
// those of the reader.
func ReadGreeting(r io.Reader) (methods []byte, err error) {
	return readCounted(r, Version)
}

// readCounted reads a version, a length and so many bytes, at least one.
func readCounted(r io.Reader, version byte) ([]byte, error) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	if head[0] != version || head[1] == 0 {
		return nil, ErrForm
	}
	b := make([]byte, head[1])
	_, err := io.ReadFull(r, b)
	return b, err
}

// WriteMethod tells the client which method was chosen.
func WriteMethod(w io.Writer, method byte) error {
	_, err := w.Write([]byte{Version, method})
	return err
}

// ReadUserPassword reads a user name of 1 to 255 bytes and a password of 0 to 255.
func ReadUserPassword(r io.Reader) (username, password string, err error) {
	user, err := readCounted(r, userPasswordVersion)
	if err != nil {
		return "", "", err
	}
	var length [1]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return "", "", err
	}
	secret := make([]byte, length[0])
	_, err = io.ReadFull(r, secret)
	return string(user), string(secret), err
}

// WriteUserPassword tells the client whether its password was right; after a wrong one
// the connection must be closed.
func WriteUserPassword(w io.Writer, right bool) error {
	status := byte(1)
	if right {
		status = 0
	}
	_, err := w.Write([]byte{userPasswordVersion, status})
	return err
}

// ReadRequest reads a CONNECT. Its errors are [ErrForm], *[RefusedError] and those of
// the reader. After a RefusedError of another command the whole message was read.
func ReadRequest(r io.Reader) (destination.Target, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return destination.Target{}, err
	}
	if head[0] != Version || head[2] != 0 {
		return destination.Target{}, ErrForm
	}
	host, err := readHost(r, head[3])
	if err != nil {
		return destination.Target{}, err
	}
	var port [2]byte
	if _, err := io.ReadFull(r, port[:]); err != nil {
		return destination.Target{}, err
	}
	t := destination.Target{Host: host, Port: binary.BigEndian.Uint16(port[:])}
	switch {
	case head[1] != connectCommand:
		return t, &RefusedError{CommandNotSupported}
	case t.Port == 0 || !destination.ValidHost(host):
		return t, &RefusedError{GeneralFailure}
	}
	return t, nil
}

func readHost(r io.Reader, kind byte) (string, error) {
	size := 4
	switch kind {
	case addressIPv4:
	case addressIPv6:
		size = 16
	case addressDomain:
		var length [1]byte
		if _, err := io.ReadFull(r, length[:]); err != nil {
			return "", err
		}
		size = int(length[0])
	default:
		return "", &RefusedError{AddressNotSupported}
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(r, b); err != nil {
		return "", err
	}
	if kind == addressDomain {
		return string(b), nil
	}
	a, _ := netip.AddrFromSlice(b)
	return a.String(), nil
}

// WriteReply answers a request. The address that the proxy connects from is not told.
func WriteReply(w io.Writer, reply Reply) error {
	_, err := w.Write([]byte{Version, byte(reply), 0, addressIPv4, 0, 0, 0, 0, 0, 0})
	return err
}
