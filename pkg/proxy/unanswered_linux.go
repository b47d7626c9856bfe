package proxy

import "golang.org/x/sys/unix"

// tcpInfo reads what the kernel knows of a connection.
func tcpInfo(descriptor uintptr) (unanswered bool, sinceAnswer uint32, err error) {
	info, err := unix.GetsockoptTCPInfo(int(descriptor), unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return false, 0, err
	}
	return info.Unacked > 0 || info.Probes > 0, info.Last_ack_recv, nil
}
