package forward

import (
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
