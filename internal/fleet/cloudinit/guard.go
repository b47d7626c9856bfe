package cloudinit

import (
	"fmt"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/destination"
)

// refused returns where no proxy of a fleet connects for its clients, as networks of
// IPv4 and of IPv6, without IPv4-mapped ones: no packet has such an address.
func refused() (v4, v6 []string) {
	for _, p := range destination.Refused() {
		switch {
		case p.Addr().Is4():
			v4 = append(v4, p.String())
		case !p.Addr().Is4In6():
			v6 = append(v6, p.String())
		}
	}
	return v4, v6
}

// guard lets a user of the instance open connections to the Internet alone: whatever
// the program that runs as this user believes about a name, the kernel judges the
// address. Names are still asked for, by UDP, where the resolver is.
func guard(user string) string {
	v4, v6 := refused()
	return fmt.Sprintf(`#!/usr/sbin/nft -f
table inet gatehouse_guard
delete table inet gatehouse_guard
table inet gatehouse_guard {
	chain output {
		type filter hook output priority filter; policy accept;
		meta skuid != %q accept
		ct state established,related accept
		udp dport 53 accept
		fib daddr type local reject
		ip daddr { %s } reject
		ip6 daddr { %s } reject
		tcp dport { 25, 465, 587 } reject
	}
}
`, user, strings.Join(v4, ", "), strings.Join(v6, ", "))
}
