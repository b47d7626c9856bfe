package arena

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// The network of a leg. Packets to Net go into a pair of virtual cables without ARP
// and are dropped at its other end, unless a local route says that their address is
// here: then this host answers, or refuses where nobody listens.
var (
	// Net holds the addresses that backends may have.
	Net = netip.MustParsePrefix("10.0.0.0/8")
	// Source is where connections to backends come from; no backend has it.
	Source = netip.MustParseAddr("10.0.0.1")
)

const (
	hole = "lab0" // the end that packets leave by
	far  = "lab1" // the end that drops them
)

// network builds it in an empty network namespace.
func network() error {
	if err := up("lo"); err != nil {
		return err
	}
	attributes := netlink.NewLinkAttrs()
	attributes.Name = hole
	if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attributes, PeerName: far}); err != nil {
		return fmt.Errorf("add a virtual cable (kernel module veth): %w", err)
	}
	link, err := netlink.LinkByName(hole)
	if err != nil {
		return fmt.Errorf("find %s: %w", hole, err)
	}
	if err := netlink.LinkSetARPOff(link); err != nil {
		return fmt.Errorf("switch off ARP at %s: %w", hole, err)
	}
	address := &netlink.Addr{IPNet: &net.IPNet{IP: Source.AsSlice(), Mask: net.CIDRMask(Net.Bits(), 32)}}
	if err := netlink.AddrAdd(link, address); err != nil {
		return fmt.Errorf("add %s to %s: %w", Source, hole, err)
	}
	if err := up(hole); err != nil {
		return err
	}
	return up(far)
}

func up(name string) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("find %s: %w", name, err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("bring %s up: %w", name, err)
	}
	return nil
}

// appear makes this host the owner of an address. It is a route and not an address of
// lo, because the latter would also be the source of connections to itself, and after
// it had vanished nothing could be sent to it any more, not even in vain.
func appear(address netip.Addr) error {
	route, err := local(address)
	if err != nil {
		return err
	}
	if err := netlink.RouteReplace(route); err != nil {
		return fmt.Errorf("take the address %s: %w", address, err)
	}
	return nil
}

// vanish undoes appear: packets to the address are dropped from now on.
func vanish(address netip.Addr) error {
	route, err := local(address)
	if err != nil {
		return err
	}
	if err := netlink.RouteDel(route); err != nil {
		return fmt.Errorf("drop the address %s: %w", address, err)
	}
	return nil
}

func local(address netip.Addr) (*netlink.Route, error) {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return nil, fmt.Errorf("find the loopback interface: %w", err)
	}
	return &netlink.Route{
		LinkIndex: lo.Attrs().Index,
		Table:     unix.RT_TABLE_LOCAL,
		Type:      unix.RTN_LOCAL,
		Scope:     netlink.SCOPE_HOST,
		Dst:       &net.IPNet{IP: address.AsSlice(), Mask: net.CIDRMask(32, 32)},
		Src:       Source.AsSlice(),
	}, nil
}
