//go:build !linux

package proxy

import (
	"net"
	"time"
)

// setUserTimeout has no counterpart here; retransmissions end by themselves.
func setUserTimeout(*net.TCPConn, time.Duration) error { return nil }
