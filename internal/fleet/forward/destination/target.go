package destination

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// ErrTarget means that a text is not HOST:PORT.
var ErrTarget = errors.New("not HOST:PORT with a name, an IPv4 address or an IPv6 address in brackets")

// Target is what a client asks for: a host name, or an address as text, and a port.
type Target struct {
	Host string
	Port uint16
}

// ParseTarget reads HOST:PORT, with IPv6 addresses in brackets; [ErrTarget].
func ParseTarget(text string) (Target, error) {
	host, digits, err := net.SplitHostPort(text)
	port, ok := parsePort(digits)
	if err != nil || !ok || !ValidHost(host) || strings.HasPrefix(text, "[") != strings.Contains(host, ":") {
		return Target{}, ErrTarget
	}
	return Target{Host: host, Port: port}, nil
}

// String is what can be dialled.
func (t Target) String() string { return net.JoinHostPort(t.Host, strconv.Itoa(int(t.Port))) }

func parsePort(digits string) (uint16, bool) {
	n, err := strconv.ParseUint(digits, 10, 16)
	return uint16(n), err == nil && n > 0 && digits[0] != '+'
}

// ValidHost says whether host is an address without zone or a name that can be looked
// up: at most 253 letters, digits, dashes, underscores and dots. What is not ASCII comes
// as Punycode.
func ValidHost(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Zone() == ""
	}
	if host == "" || len(host) > 253 || strings.HasPrefix(host, ".") || strings.Contains(host, "..") {
		return false
	}
	return !strings.ContainsFunc(host, func(r rune) bool {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_', r == '.':
			return false
		}
		return true
	})
}
