package destination

import (
	"errors"
	"net/netip"
	"testing"

	"pgregory.net/rapid"
)

var open = Rules{Ports: Ports{{1, 65535}}}

func TestAddressesThatNobodyMayReach(t *testing.T) {
	for _, text := range []string{
		"0.0.0.0", "0.1.2.3", "10.1.2.3", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254", "168.63.129.16",
		"169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.168.1.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
		"::", "::1", "fe80::1", "fe80::1%eth0", "fd00:ec2::254", "fd20:ce::254", "fc00::1", "fec0::1", "ff02::1", "2001:db8::1", "2001::1", "64:ff9b:1::1",
		"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:0:10.0.0.1", "::127.0.0.1", "64:ff9b::169.254.169.254", "64:ff9b::a00:1", "2002:7f00:1::1", "2002:a9fe:a9fe::", "2002:a00:1::5",
	} {
		if err := open.Address(netip.MustParseAddr(text), nil); !errors.Is(err, ErrAddress) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := open.Address(netip.Addr{}, nil); !errors.Is(err, ErrAddress) {
		t.Errorf("no address: %v", err)
	}
}

func TestAddressesOfTheInternet(t *testing.T) {
	for _, text := range []string{
		"1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "168.63.129.15", "172.15.0.1", "172.32.0.1", "193.0.0.1", "223.255.255.255",
		"2606:4700::1", "2a00::1", "64:ff9b::1.1.1.1", "2002:101:101::1", "::ffff:1.1.1.1", "2001:4860::1", "2001:200::1",
	} {
		if err := open.Address(netip.MustParseAddr(text), nil); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestOwnAddressesInEveryForm(t *testing.T) {
	own := []netip.Addr{netip.MustParseAddr("9.8.7.6"), netip.MustParseAddr("2a00::6")}
	for text, want := range map[string]error{
		"9.8.7.6": ErrAddress, "::ffff:9.8.7.6": ErrAddress, "64:ff9b::9.8.7.6": ErrAddress, "2002:908:706::1": ErrAddress, "2a00::6": ErrAddress,
		"9.8.7.5": nil, "2a00::7": nil, "64:ff9b::9.8.7.5": nil,
	} {
		if err := open.Address(netip.MustParseAddr(text), own); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
}

func TestAllowedAddressesBeatTheListAndOurs(t *testing.T) {
	r := Rules{Allow: prefixes("127.0.0.0/8", "fd00::/16")}
	own := []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	for text, want := range map[string]error{
		"127.0.0.1": nil, "::ffff:127.0.0.1": nil, "fd00::5": nil,
		"fd01::5": ErrAddress, "10.0.0.1": ErrAddress, "64:ff9b::127.0.0.1": ErrAddress,
	} {
		if err := r.Address(netip.MustParseAddr(text), own); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
}

// The list that other programs get says the same as the rules, form by form: one looks
// into addresses, the other has a prefix for each form.
func TestTheListAndTheRulesAgree(t *testing.T) {
	list := Refused()
	rapid.Check(t, func(t *rapid.T) {
		a := address().Draw(t, "address")
		listed := contains(list, a) || a.Is4In6() && contains(list, a.Unmap())
		if refused := open.Address(a, nil) != nil; refused != listed {
			t.Fatalf("%s: refused %t, listed %t", a, refused, listed)
		}
	})
}

// No form of IPv6 reaches an IPv4 address that cannot be reached itself.
func TestFormsHideNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v4 := address4().Draw(t, "IPv4")
		if open.Address(v4, nil) == nil {
			return
		}
		c := rapid.SampledFrom(carriers).Draw(t, "form")
		b := c.prefix.Addr().As16()
		bytes := v4.As4()
		copy(b[c.at:], bytes[:])
		if form := netip.AddrFrom16(b); open.Address(form, nil) == nil {
			t.Fatalf("%s is refused, %s is not", v4, form)
		}
	})
}

// An address at an edge of a prefix is more likely than any other.
func address() *rapid.Generator[netip.Addr] {
	return rapid.Custom(func(t *rapid.T) netip.Addr {
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			return address4().Draw(t, "IPv4")
		case 1:
			return netip.AddrFrom16([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "bytes")))
		default:
			return nearEdge(t, Refused())
		}
	})
}

func address4() *rapid.Generator[netip.Addr] {
	return rapid.Custom(func(t *rapid.T) netip.Addr {
		if rapid.Bool().Draw(t, "edge") {
			return nearEdge(t, refused4)
		}
		return netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "bytes")))
	})
}

func nearEdge(t *rapid.T, list []netip.Prefix) netip.Addr {
	p := rapid.SampledFrom(list).Draw(t, "prefix")
	a := p.Addr()
	if rapid.Bool().Draw(t, "last") {
		b := a.AsSlice()
		for i := p.Bits(); i < len(b)*8; i++ {
			b[i/8] |= 0x80 >> (i % 8)
		}
		a, _ = netip.AddrFromSlice(b)
	}
	switch rapid.IntRange(-1, 1).Draw(t, "step") {
	case -1:
		if before := a.Prev(); before.IsValid() {
			return before
		}
	case 1:
		if after := a.Next(); after.IsValid() {
			return after
		}
	}
	return a
}
