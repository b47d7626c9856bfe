package file

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// beingWritten reports whether somebody has the file open for writing. A read
// lease is granted only if nobody has (fcntl(2), F_SETLEASE); where leases are
// not supported or not allowed the answer is no, and events decide alone.
func beingWritten(f *os.File) bool {
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	busy := false
	_ = conn.Control(func(fd uintptr) { // fails only when f is closed
		_, err := unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_RDLCK)
		busy = errors.Is(err, unix.EAGAIN)
		if err == nil {
			_, _ = unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_UNLCK) // closing f would give it back too
		}
	})
	return busy
}
