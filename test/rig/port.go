package rig

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"time"
)

// Ports are taken from below the range that the kernel gives to outgoing
// connections, so that no connection of a proxy can take one before its listener.
const firstPort, lastPort = 10000, 32000

// Loopback is where everything of the rig listens.
var Loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// FreePort returns a port of Loopback that nothing listens on now.
func FreePort(ctx context.Context) (uint16, error) {
	for range 100 {
		port := uint16(firstPort + rand.IntN(lastPort-firstPort))
		if !Busy(ctx, port) {
			return port, nil
		}
	}
	return 0, errors.New("find a free port: 100 attempts met ports in use")
}

// Busy reports whether a port of Loopback cannot be listened on.
func Busy(ctx context.Context, port uint16) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", netip.AddrPortFrom(Loopback, port).String())
	if err != nil {
		return true
	}
	return l.Close() != nil
}

// URL of a port of Loopback, for example "http://127.0.0.1:8080".
func URL(scheme string, port uint16) string {
	return scheme + "://" + netip.AddrPortFrom(Loopback, port).String()
}
