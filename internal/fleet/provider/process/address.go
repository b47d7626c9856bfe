package process

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// loopback has the addresses of instances without a network: not 127.0.0.0/16, where
// other programs have theirs.
var loopback = netip.MustParsePrefix("127.128.0.0/9")

// tries is how many addresses are tried before a prefix counts as full.
const tries = 64

// place gives an instance an address that none has, of this directory or another.
func (p *Provider) place(i *instance) error {
	i.Network = loopback
	if p.options.Network != nil {
		bridge, err := p.bridged()
		if err != nil {
			return err
		}
		i.Network, i.Bridge, i.Cable = bridge.Prefix, bridge.Name, cablePrefix+random()[:8]
	}
	taken := make(map[netip.Addr]bool)
	all, _, err := p.store.all() // whoever cannot be read has its claim while it lives
	if err != nil {
		return err
	}
	for _, other := range all {
		taken[other.Address] = true
	}
	for i.Address = range p.hosts(i.Network) {
		if taken[i.Address] {
			continue
		}
		if claim, err := claimed(i); err == nil {
			return claim.Close()
		}
	}
	return fmt.Errorf("%w: no address of %s is free", provider.ErrQuotaExceeded, i.Network)
}

// candidates are addresses of hosts in a prefix: a small one from the first to the last,
// random ones of a large one. The first host is the gateway's.
func candidates(prefix netip.Prefix) iter.Seq[netip.Addr] {
	hosts := uint32(1)<<(32-prefix.Bits()) - 3 // without network, gateway and broadcast
	first := binary.BigEndian.Uint32(prefix.Masked().Addr().AsSlice()) + 2
	from, step := rand.Uint32N(hosts), uint32(1)
	if hosts > 4*tries {
		step = 1 + rand.Uint32N(hosts/tries)
	}
	return func(yield func(netip.Addr) bool) {
		for n := range min(hosts, 16*tries) {
			var b [4]byte
			binary.BigEndian.PutUint32(b[:], first+uint32((uint64(from)+uint64(n)*uint64(step))%uint64(hosts)))
			if !yield(netip.AddrFrom4(b)) {
				return
			}
		}
	}
}

// claimed takes the address of an instance for whoever holds the file: a process and
// its children. Nobody else on this machine has it until all of them end.
func claimed(i *instance) (*os.File, error) {
	file, err := claim("egress/" + i.Address.String())
	if err != nil {
		return nil, fmt.Errorf("address %s: %w", i.Address, err)
	}
	return file, nil
}

// claim takes a name that one process of this machine's network can have.
func claim(name string) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "claim")
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: "@gatehouse/" + name}); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("%w: another process has it: %w", provider.ErrTransient, err)
	}
	return file, nil
}
