package cloudinit

import (
	"fmt"
	"strings"
)

// Forbidden4 and Forbidden6 are where no proxy of a fleet connects for its clients:
// this host, private and shared networks, link-local with the clouds' metadata, what is
// reserved, multicast, and the forms of IPv6 that hold an IPv4 address. See the IANA
// special-purpose address registries (RFC 6890).
var (
	Forbidden4 = []string{
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
		"192.0.0.0/24", "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4",
	}
	Forbidden6 = []string{
		"::/96", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "fc00::/7", "fe80::/10", "ff00::/8",
	}
)

// guard lets a user of the instance open connections to the Internet alone: whatever
// the program that runs as this user believes about a name, the kernel judges the
// address. Names are still asked for where the resolver is.
func guard(user string) string {
	return fmt.Sprintf(`#!/usr/sbin/nft -f
table inet gatehouse_guard
delete table inet gatehouse_guard
table inet gatehouse_guard {
	chain output {
		type filter hook output priority filter; policy accept;
		meta skuid != %q accept
		ct state established,related accept
		meta l4proto { tcp, udp } th dport 53 accept
		fib daddr type local reject
		ip daddr { %s } reject
		ip6 daddr { %s } reject
		tcp dport { 25, 465, 587 } reject
	}
}
`, user, strings.Join(Forbidden4, ", "), strings.Join(Forbidden6, ", "))
}
