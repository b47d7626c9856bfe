//go:build !linux

package proxy

import "golang.org/x/sys/unix"

// peerClosed reports whether the peer has ended its stream and all of it was read, or
// the connection has failed. It never waits.
func peerClosed(descriptor uintptr) bool {
	for {
		var one [1]byte
		n, _, err := unix.Recvfrom(int(descriptor), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		switch err { //nolint:errorlint // an errno of the system call itself
		case nil:
			return n == 0
		case unix.EAGAIN:
			return false
		case unix.EINTR:
		default:
			return true
		}
	}
}
