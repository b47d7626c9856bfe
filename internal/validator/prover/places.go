package prover

import (
	"net/netip"

	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"
)

// places gives each address of each Gateway one of its own, so that only listeners of
// one Gateway can be at one address and port. The family stays. None is ever bound.
type places struct {
	taken  map[place]netip.Addr
	v4, v6 netip.Addr // the last ones given
}

type place struct{ group, address string }

func newPlaces() *places {
	return &places{
		taken: map[place]netip.Addr{},
		v4:    netip.AddrFrom4([4]byte{127, 128, 0, 0}), v6: netip.MustParseAddr("fd00::"),
	}
}

// move returns where an address is instead. What is no address of a socket, such as a
// path, which Envoy would bind whatever its listener says, becomes one.
func (p *places) move(group string, a *envoy_core_v3.Address) *envoy_core_v3.Address {
	socket := proto.CloneOf(a.GetSocketAddress())
	if socket == nil {
		socket = &envoy_core_v3.SocketAddress{
			Address: "0.0.0.0", PortSpecifier: &envoy_core_v3.SocketAddress_PortValue{PortValue: 1},
		}
	}
	if at, err := netip.ParseAddr(socket.GetAddress()); err == nil {
		socket.Address = p.of(place{group, socket.GetAddress()}, at.Is4()).String()
	}
	return &envoy_core_v3.Address{Address: &envoy_core_v3.Address_SocketAddress{SocketAddress: socket}}
}

func (p *places) of(at place, v4 bool) netip.Addr {
	given, ok := p.taken[at]
	if ok {
		return given
	}
	last := &p.v6
	if v4 {
		last = &p.v4
	}
	*last = last.Next()
	p.taken[at] = *last
	return *last
}
