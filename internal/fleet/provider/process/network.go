package process

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// Network gives every instance a network namespace with an address of its own. The
// namespaces of a directory are attached to one bridge, which has the first address of a
// prefix that nobody else on this machine has, and is their way to anywhere. It is made
// with the first instance and goes with the last.
//
// Whether this machine passes on what comes from there is its administrator's to say:
// nothing but the bridge is changed.
type Network struct {
	// Pool has the prefixes of all fleets of this machine; [DefaultPool] if zero. One that
	// is no larger than a fleet's prefix is one fleet's: addresses that are routed here.
	Pool netip.Prefix
}

// DefaultPool is shared address space (RFC 6598), of which a fleet takes a /22.
var DefaultPool = netip.MustParsePrefix("100.64.0.0/10")

const (
	// fleetBits are those of a fleet's prefix, if the pool has so many: a bridge has at most
	// 1,024 ports. A pool of poolBits has addresses for five instances.
	fleetBits    = 22
	poolBits     = 29
	bridgePrefix = "ghb"
	cablePrefix  = "ghc"
	networkFile  = "network.json"
)

// check says whether namespaces can be made here.
func (n *Network) check() error {
	if n.Pool == (netip.Prefix{}) {
		n.Pool = DefaultPool
	}
	if !n.Pool.Addr().Is4() || n.Pool.Bits() > poolBits {
		return fmt.Errorf("network %s must be IPv4 and at least a /%d", n.Pool, poolBits)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil || data[0].Effective&needed != needed {
		return errors.New("network namespaces with processes of another user cannot be made: run as root with all rights, or use loopback addresses, with --process-network off")
	}
	return nil
}

// bridge is what the namespaces of a directory are attached to.
type bridge struct {
	Name   string
	Prefix netip.Prefix
}

func (b bridge) gateway() netip.Addr { return b.Prefix.Masked().Addr().Next() }

// bridged returns the bridge of this directory, and makes it if it is not there.
func (p *Provider) bridged() (bridge, error) {
	b, err := p.readBridge()
	if err != nil {
		return b, err
	}
	if b.Name != "" {
		_, err := netlink.LinkByName(b.Name)
		if err == nil {
			return b, b.make(p.options.Cluster) // it may be half made
		}
		if _, none := errors.AsType[netlink.LinkNotFoundError](err); !none {
			return b, fmt.Errorf("find the bridge %s: %w", b.Name, err)
		}
	}
	choice, err := claim("network") // no two fleets choose at once
	if err != nil {
		return b, err
	}
	defer choice.Close()
	if b, err = choose(p.options.Network.Pool); err != nil {
		return b, err
	}
	if err := save(filepath.Join(p.options.Dir, networkFile), b); err != nil {
		return b, err
	}
	if err := b.make(p.options.Cluster); err != nil {
		return b, err
	}
	return b, p.cut("bridged")
}

func (p *Provider) readBridge() (b bridge, err error) {
	text, err := os.ReadFile(filepath.Join(p.options.Dir, networkFile))
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	return b, err
}

// unbridge removes the bridge of this directory, if there is one.
func (p *Provider) unbridge() error {
	b, err := p.readBridge()
	if err != nil || b.Name == "" {
		return err
	}
	if err := unplug(b.Name); err != nil {
		return err
	}
	return os.Remove(filepath.Join(p.options.Dir, networkFile))
}

// make makes what the bridge lacks. What it is for is said where administrators look.
func (b bridge) make(cluster string) error {
	attributes := netlink.NewLinkAttrs()
	attributes.Name = b.Name
	if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attributes}); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("add the bridge of instances (kernel module bridge): %w", err)
	}
	link, err := netlink.LinkByName(b.Name)
	if err != nil {
		return fmt.Errorf("find the bridge %s: %w", b.Name, err)
	}
	if err := netlink.LinkSetAlias(link, "gatehouse fleet "+cluster); err != nil {
		return fmt.Errorf("name %s: %w", b.Name, err)
	}
	if err := netlink.AddrReplace(link, address(b.gateway(), b.Prefix)); err != nil {
		return fmt.Errorf("add %s to %s: %w", b.gateway(), b.Name, err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("bring %s up: %w", b.Name, err)
	}
	return nil
}

func address(a netip.Addr, in netip.Prefix) *netlink.Addr {
	return &netlink.Addr{IPNet: &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(in.Bits(), 32)}}
}

// choose returns a bridge that is not there yet, with a prefix into which this machine
// has no route.
func choose(pool netip.Prefix) (bridge, error) {
	all := &netlink.Route{Table: unix.RT_TABLE_UNSPEC}
	routes, err := netlink.RouteListFiltered(netlink.FAMILY_V4, all, netlink.RT_FILTER_TABLE)
	if err != nil {
		return bridge{}, fmt.Errorf("list the routes of this machine: %w", err)
	}
	for range tries {
		prefix := within(pool)
		if !slices.ContainsFunc(routes, func(r netlink.Route) bool { return leadsInto(r, prefix) }) {
			return bridge{Name: bridgePrefix + random()[:8], Prefix: prefix}, nil
		}
	}
	return bridge{}, fmt.Errorf("%w: this machine has routes into all of %s already: choose another --process-pool", provider.ErrQuotaExceeded, pool)
}

// leadsInto says whether a route other than the default one overlaps a prefix.
func leadsInto(r netlink.Route, prefix netip.Prefix) bool {
	if r.Dst == nil {
		return false
	}
	first, _ := netip.AddrFromSlice(r.Dst.IP.To4())
	bits, _ := r.Dst.Mask.Size()
	return bits > 0 && prefix.Overlaps(netip.PrefixFrom(first, bits))
}

// within returns a random prefix of a fleet in a pool.
func within(pool netip.Prefix) netip.Prefix {
	bits := max(fleetBits, pool.Bits())
	first := binary.BigEndian.Uint32(pool.Masked().Addr().AsSlice())
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], first+rand.Uint32N(1<<(bits-pool.Bits()))<<(32-bits))
	return netip.PrefixFrom(netip.AddrFrom4(b), bits)
}
