package proxy

import (
	"crypto/tls"
	"net"
	"syscall"
	"time"
)

// Unanswered tells whether the kernel waits for a peer to acknowledge bytes, or to answer
// a probe whether it has room for more, and how long ago the last answer came. A peer
// that has stopped reading still answers: it is alive. It is false for a connection over
// no TCP, and where the system does not tell.
func Unanswered(c net.Conn) (waits bool, last time.Duration) {
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	if w, ok := c.(*Conn); ok {
		c = w.Conn
	}
	s, ok := c.(syscall.Conn)
	if !ok {
		return false, 0
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false, 0
	}
	var ms uint32
	var failed error
	if err := raw.Control(func(descriptor uintptr) { waits, ms, failed = tcpInfo(descriptor) }); err != nil || failed != nil {
		return false, 0
	}
	return waits, time.Duration(ms) * time.Millisecond
}
