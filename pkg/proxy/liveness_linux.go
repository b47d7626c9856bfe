package proxy

import (
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

func setUserTimeout(c *net.TCPConn, d time.Duration) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var set error
	err = raw.Control(func(fd uintptr) {
		set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return os.NewSyscallError("setsockopt TCP_USER_TIMEOUT", set)
}
