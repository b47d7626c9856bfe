//go:build !linux

package forward

import (
	"net/netip"
	"syscall"
)

func shareEgress(syscall.RawConn) {}

func bindEgress(syscall.RawConn, netip.Addr) error { return nil }
