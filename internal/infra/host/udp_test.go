package host

import (
	"net"
	"net/netip"
	"strings"
	"testing"
)

func TestUDPBound(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "0.0.0.0:0", "[::1]:0", "[::]:0"} {
		conn, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", at)
		if err != nil {
			t.Fatal(err)
		}
		address := conn.LocalAddr().(*net.UDPAddr).AddrPort()
		if err := UDPBound(address); err != nil {
			t.Errorf("%s is bound: %v", address, err)
		}
		_ = conn.Close()
		if err := UDPBound(address); err == nil || !strings.Contains(err.Error(), address.String()) {
			t.Errorf("%s is not bound any more: %v", address, err)
		}
	}
}

// TestUDPBoundByAnother: neither another address of the port nor a client's socket
// stands for a listener.
func TestUDPBoundByAnother(t *testing.T) {
	conn, err := (&net.Dialer{LocalAddr: &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}}).DialContext(t.Context(), "udp", "127.0.0.1:9")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	own := conn.LocalAddr().(*net.UDPAddr).AddrPort()
	for _, address := range []netip.AddrPort{own, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.2"), own.Port())} {
		if UDPBound(address) == nil {
			t.Errorf("%s counts as bound", address)
		}
	}
}
