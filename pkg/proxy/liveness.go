package proxy

import (
	"net"
	"time"
)

// Liveness is how soon a dead peer is noticed.
type Liveness struct {
	// Idle, Interval and Count are TCP keepalive's: a connection that was silent for
	// Idle is probed every Interval, and has failed after Count probes in vain.
	Idle, Interval time.Duration
	Count          int
	// UserTimeout is how long sent bytes may wait for an acknowledgement, or for
	// room at a peer that has stopped reading, until the connection has failed
	// (RFC 5482, Linux's TCP_USER_TIMEOUT); 0 leaves it to the system's
	// retransmissions. It also replaces Count for the probes.
	UserTimeout time.Duration
}

// DefaultLiveness notices a dead peer within a minute while nothing is sent. It has no
// UserTimeout, which would also end a connection whose peer lives and has just stopped
// reading; [Unanswered] tells these apart.
func DefaultLiveness() Liveness {
	return Liveness{Idle: 30 * time.Second, Interval: 10 * time.Second, Count: 3}
}

// SetLiveness applies l to a TCP connection, a *Conn over one included. To others
// it does nothing.
func SetLiveness(c net.Conn, l Liveness) error {
	if w, ok := c.(*Conn); ok {
		c = w.Conn
	}
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return nil
	}
	keep := net.KeepAliveConfig{Enable: true, Idle: l.Idle, Interval: l.Interval, Count: l.Count}
	if err := tcp.SetKeepAliveConfig(keep); err != nil {
		return err
	}
	if l.UserTimeout == 0 {
		return nil
	}
	return setUserTimeout(tcp, l.UserTimeout)
}
