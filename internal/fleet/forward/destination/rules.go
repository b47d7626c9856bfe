package destination

import (
	"errors"
	"net/netip"
	"slices"
)

// Errors of [Rules].
var (
	ErrAddress = errors.New("this address is not allowed as a destination")
	ErrPort    = errors.New("this port is not allowed as a destination")
)

// Rules are what one proxy may connect to. The zero value refuses every port.
type Rules struct {
	// Allow are addresses that may be reached although they are on the list, or ours.
	Allow []netip.Prefix
	Ports Ports
}

// Address returns nil or [ErrAddress]. Own are the addresses of the instance itself.
func (r Rules) Address(a netip.Addr, own []netip.Addr) error {
	if !a.IsValid() {
		return ErrAddress
	}
	a = a.WithZone("").Unmap()
	switch {
	case contains(r.Allow, a):
		return nil
	case refused(a), isOwn(a, own):
		return ErrAddress
	}
	return nil
}

// Port returns nil or [ErrPort].
func (r Rules) Port(port uint16) error {
	if !r.Ports.Contains(port) {
		return ErrPort
	}
	return nil
}

// refused says whether a, or the IPv4 address that it carries, is on the list.
func refused(a netip.Addr) bool {
	if v4, ok := carried(a); ok && contains(refused4, v4) {
		return true
	}
	return contains(refused4, a) || contains(refused6, a)
}

// isOwn compares what a carries too: 6to4 and NAT64 lead back to the same host.
func isOwn(a netip.Addr, own []netip.Addr) bool {
	v4, carries := carried(a)
	return slices.ContainsFunc(own, func(o netip.Addr) bool {
		o = o.WithZone("").Unmap()
		return o == a || carries && o == v4
	})
}
