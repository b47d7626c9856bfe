package proxy

import (
	"crypto/tls"
	"net"
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
	var ms uint32
	var failed error
	if !Wrap(c).control(func(descriptor uintptr) { waits, ms, failed = tcpInfo(descriptor) }) || failed != nil {
		return false, 0
	}
	return waits, time.Duration(ms) * time.Millisecond
}
