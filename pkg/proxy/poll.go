package proxy

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// wouldBlockError is what Conn.Read returns while polling when nothing has arrived.
// It calls itself temporary, because crypto/tls remembers every other error of
// the connection beneath it and fails for ever.
type wouldBlockError struct{}

func (wouldBlockError) Error() string   { return "nothing to read yet" }
func (wouldBlockError) Timeout() bool   { return true }
func (wouldBlockError) Temporary() bool { return true }

var errWouldBlock error = wouldBlockError{}

// receiveNow reads what has arrived and never waits.
func receiveNow(descriptor uintptr, p []byte) (int, error) {
	for {
		n, err := syscall.Read(int(descriptor), p)
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return 0, errWouldBlock
		case err != nil:
			return 0, os.NewSyscallError("read", err)
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

// heard reports whether bytes have arrived that nobody has read. It may be
// called beside a reader.
func (c *Conn) heard() bool {
	arrived := false
	c.control(func(descriptor uintptr) {
		var one [1]byte
		n, _, err := unix.Recvfrom(int(descriptor), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		arrived = err == nil && n > 0
	})
	return arrived
}
