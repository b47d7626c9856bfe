// Package proxyprotocol learns from a load balancer who connects: it takes a header of
// the PROXY protocol, version 1 or 2, off the begin of a connection and turns it into the
// client's address. It takes not a byte more, however the header is cut into segments,
// and never allocates by what is announced beyond MaxHeader.
//
// Only networks that are trusted may say who somebody is. See
// https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt.
package proxyprotocol

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/pires/go-proxyproto"

	"github.com/gatehouse-proxy/gatehouse/pkg/proxy"
)

// Mode says who sends a header.
type Mode string

// Modes. The zero Mode is Off.
const (
	Off      Mode = "off"      // nobody
	Optional Mode = "optional" // trusted networks may; everybody else connects as himself
	Required Mode = "required" // trusted networks must; nobody else connects
)

// Policy says from whom headers are taken.
type Policy struct {
	Mode Mode
	// Trusted are the networks of load balancers.
	Trusted []netip.Prefix
}

// RefusedError says why a connection has to be closed: its header, or the lack of one.
type RefusedError struct{ problem string }

// Error implements error.
func (e *RefusedError) Error() string { return "PROXY protocol: " + e.problem }

// Reasons to close a connection.
var (
	ErrUntrusted = &RefusedError{"a header, or any connection where one is required, from outside of the trusted networks"}
	ErrMissing   = &RefusedError{"no header, which is required"}
)

// Accept takes the header off c, if the policy wants one, and makes the address in it
// that of c. A header that speaks for the load balancer itself (LOCAL, UNKNOWN), or for
// something that has no IP address, changes nothing. The error is a *RefusedError, or
// that of reading c.
func (p Policy) Accept(c *proxy.Conn) error {
	if p.Mode == Off || p.Mode == "" {
		return nil
	}
	trusted := p.trusts(c.RemoteAddr())
	if !trusted && p.Mode == Required {
		return ErrUntrusted
	}
	begun, err := begins(c)
	switch {
	case err != nil:
		return err
	case !begun && p.Mode == Required:
		return ErrMissing
	case !begun:
		return nil
	case !trusted:
		return ErrUntrusted
	}
	client, err := read(c)
	if err == nil && client != nil {
		c.SetRemoteAddr(client)
	}
	return err
}

// trusts tells whether a peer is in a trusted network.
func (p Policy) trusts(peer net.Addr) bool {
	tcp, ok := peer.(*net.TCPAddr)
	if !ok {
		return false
	}
	address := tcp.AddrPort().Addr().Unmap().WithZone("")
	return slices.ContainsFunc(p.Trusted, func(n netip.Prefix) bool { return n.Contains(address) })
}

// begins tells whether a header comes: no PostgreSQL client begins as one does.
func begins(c *proxy.Conn) (bool, error) {
	var first [1]byte
	if _, err := c.Read(first[:]); err != nil {
		return false, err
	}
	c.Unread(first[:])
	return first[0] == proxyproto.SIGV1[0] || first[0] == proxyproto.SIGV2[0], nil
}

// read returns the client's address; nil if the header names none.
func read(c *proxy.Conn) (net.Addr, error) {
	raw, err := cut(c)
	if err != nil {
		return nil, err
	}
	header, err := proxyproto.Read(bufio.NewReader(bytes.NewReader(raw)))
	if err != nil {
		return nil, &RefusedError{fmt.Sprintf("a header that cannot be read: %v", err)}
	}
	if header.Command.IsLocal() {
		return nil, nil //nolint:nilnil // nobody else than the peer
	}
	switch source := header.SourceAddr.(type) {
	case *net.TCPAddr:
		return source, nil
	case *net.UnixAddr:
		return nil, nil //nolint:nilnil // as above
	}
	return nil, &RefusedError{"a header of something else than TCP"}
}
