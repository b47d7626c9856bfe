package forward

import (
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

// shareEgress lets connections from one address to different targets share its ports:
// otherwise about 28,000 are all that there can be.
func shareEgress(raw syscall.RawConn) {
	_ = raw.Control(func(descriptor uintptr) {
		_ = unix.SetsockoptInt(int(descriptor), unix.SOL_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
	})
}

// bindEgress lets a socket be connected from an address, if that is of its family.
func bindEgress(raw syscall.RawConn, from netip.Addr) error {
	if !from.Is4() {
		return nil
	}
	var failed error
	err := raw.Control(func(descriptor uintptr) {
		failed = unix.Bind(int(descriptor), &unix.SockaddrInet4{Addr: from.As4()})
	})
	if err == nil {
		err = failed
	}
	return err
}
