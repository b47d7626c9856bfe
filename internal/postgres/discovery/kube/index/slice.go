package index

import (
	"fmt"
	"net/netip"
	"slices"

	core_v1 "k8s.io/api/core/v1"
	discovery_v1 "k8s.io/api/discovery/v1"
)

// slice is what is kept of an EndpointSlice.
type slice struct {
	family  discovery_v1.AddressType
	ports   []slicePort
	entries []entry
	// problem is why some of its addresses are not among the entries.
	problem Problem
	port    uint16 // that is dialled; 0 for none
}

type slicePort struct {
	name   string
	number uint16 // 0 where the slice leaves it open
}

type entry struct {
	address netip.Addr
	ready   bool
}

func (s *slice) equal(o *slice) bool {
	return s.family == o.family && s.problem == o.problem && slices.Equal(s.ports, o.ports) && slices.Equal(s.entries, o.entries)
}

// readSlice keeps the addresses that may be dialled. Of an endpoint's addresses the
// first counts (the API leaves the others undefined).
func readSlice(s *discovery_v1.EndpointSlice, o Options) *slice {
	out := &slice{family: s.AddressType}
	for _, p := range s.Ports {
		if p.Protocol == nil || *p.Protocol == core_v1.ProtocolTCP {
			out.ports = append(out.ports, slicePort{value(p.Name), uint16(value(p.Port))})
		}
	}
	for _, e := range s.Endpoints {
		if len(e.Addresses) == 0 {
			continue
		}
		address, why := check(e.Addresses[0], o.AllowLocal)
		if why != "" {
			out.problem = Problem{
				Reason:  RefusedEndpoint,
				Message: fmt.Sprintf("has an endpoint %s in EndpointSlice %s, which %s", e.Addresses[0], s.Name, why),
			}
			continue
		}
		out.entries = append(out.entries, entry{address, ready(e.Conditions)})
	}
	return out
}

// ready tells whether new sessions may go to an endpoint. Unknown is ready (the API says
// so); one that terminates is not, whatever publishNotReadyAddresses says.
func ready(c discovery_v1.EndpointConditions) bool {
	return (c.Ready == nil || *c.Ready) && !value(c.Terminating)
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// metadata are addresses at which clouds tell machines their secrets; those that are
// link-local, as most are, need no entry.
var metadata = []netip.Addr{
	netip.MustParseAddr("fd00:ec2::254"),
	netip.MustParseAddr("fd20:ce::254"),
	netip.MustParseAddr("100.100.100.200"),
	netip.MustParseAddr("168.63.129.16"),
	netip.MustParseAddr("192.0.0.192"),
}

const allow = "; ALLOW_LOCAL_ENDPOINTS allows it"

// check returns an address that may be dialled, or why it may not.
func check(text string, local bool) (a netip.Addr, why string) {
	a, err := netip.ParseAddr(text)
	a = a.Unmap()
	switch {
	case err != nil:
		return a, "is no IP address"
	case a.IsUnspecified(), a.IsMulticast():
		return a, "is no server's address"
	case local:
		return a, ""
	case a.IsLoopback():
		return a, "is a loopback address" + allow
	case a.IsLinkLocalUnicast():
		return a, "is a link-local address" + allow
	case slices.Contains(metadata, a):
		return a, "is where a cloud serves metadata" + allow
	}
	return a, ""
}
