package proxy

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// readNow and writeNow never wait, and so need not tell Go's scheduler.

func readNow(fd int, p []byte) (int, syscall.Errno) {
	for {
		n, _, errno := syscall.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
		if errno != unix.EINTR {
			return int(n), errno
		}
	}
}

func writeNow(fd int, p []byte) (int, syscall.Errno) {
	for {
		n, _, errno := syscall.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
		if errno != unix.EINTR {
			return int(n), errno
		}
	}
}
