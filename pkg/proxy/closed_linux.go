package proxy

import "golang.org/x/sys/unix"

// peerClosed reports whether the peer has ended its stream, whatever of it has not been
// read yet, or the connection has failed. It never waits.
func peerClosed(descriptor uintptr) bool {
	events := [1]unix.PollFd{{Fd: int32(descriptor), Events: unix.POLLRDHUP}}
	for {
		n, err := unix.Poll(events[:], 0)
		if err != unix.EINTR {
			return err != nil || n > 0
		}
	}
}
