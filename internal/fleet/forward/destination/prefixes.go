package destination

import (
	"net/netip"
	"slices"
)

// refused4 are the IPv4 addresses that no Internet host has, or that only the instance
// and its cloud should reach (IANA's special-purpose registry, RFC 6890).
var refused4 = prefixes(
	"0.0.0.0/8",        // this host
	"10.0.0.0/8",       // private
	"100.64.0.0/10",    // carriers, and metadata of a cloud
	"127.0.0.0/8",      // loopback
	"168.63.129.16/32", // metadata of a cloud, at a public address
	"169.254.0.0/16",   // link-local, metadata of most clouds
	"172.16.0.0/12",    // private
	"192.0.0.0/24",     // protocols, and metadata of a cloud
	"192.0.2.0/24",     // documentation
	"192.88.99.0/24",   // relays of 6to4
	"192.168.0.0/16",   // private
	"198.18.0.0/15",    // benchmarks
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"224.0.0.0/4",      // multicast
	"240.0.0.0/4",      // reserved, and broadcast
)

// refused6 are such IPv6 addresses, without those that carry an IPv4 address.
var refused6 = prefixes(
	"::/128",         // unspecified
	"::1/128",        // loopback
	"64:ff9b:1::/48", // NAT64 of a site: what it stands for is not known
	"100::/64",       // discarded
	"2001::/32",      // Teredo: hides two IPv4 addresses
	"2001:db8::/32",  // documentation
	"3fff::/20",      // documentation
	"5f00::/16",      // segment routing
	"fc00::/7",       // unique local, metadata of clouds
	"fe80::/10",      // link-local
	"fec0::/10",      // site-local
	"ff00::/8",       // multicast
)

// carrier is an IPv6 prefix after which an IPv4 address follows.
type carrier struct {
	prefix netip.Prefix
	at     int // the byte at which it begins
}

var carriers = []carrier{
	{netip.MustParsePrefix("::ffff:0:0/96"), 12},   // IPv4-mapped (RFC 4291)
	{netip.MustParsePrefix("::ffff:0:0:0/96"), 12}, // IPv4-translated (RFC 7915)
	{netip.MustParsePrefix("::/96"), 12},           // IPv4-compatible (RFC 4291)
	{netip.MustParsePrefix("64:ff9b::/96"), 12},    // NAT64 (RFC 6052)
	{netip.MustParsePrefix("2002::/16"), 2},        // 6to4 (RFC 3056)
}

// Refused returns all prefixes that are refused unless allowed, IPv4 addresses that
// IPv6 ones carry included, for programs that take a list.
func Refused() []netip.Prefix {
	all := slices.Concat(refused4, refused6)
	for _, c := range carriers {
		for _, p := range refused4 {
			b := c.prefix.Addr().As16()
			v4 := p.Addr().As4()
			copy(b[c.at:], v4[:])
			all = append(all, netip.PrefixFrom(netip.AddrFrom16(b), c.at*8+p.Bits()))
		}
	}
	return all
}

// carried returns the IPv4 address in a, if it carries one.
func carried(a netip.Addr) (netip.Addr, bool) {
	b := a.As16()
	for _, c := range carriers {
		if c.at+4 <= len(b) && a.Is6() && inside(c.prefix, b) {
			return netip.AddrFrom4([4]byte(b[c.at : c.at+4])), true
		}
	}
	return netip.Addr{}, false
}

// inside also compares IPv4-mapped addresses, which [netip.Prefix.Contains] takes for
// IPv4.
func inside(p netip.Prefix, b [16]byte) bool {
	want := p.Addr().As16()
	return slices.Equal(b[:p.Bits()/8], want[:p.Bits()/8])
}

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

func contains(all []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(all, func(p netip.Prefix) bool { return p.Contains(a) })
}
