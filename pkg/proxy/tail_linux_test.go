package proxy

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestTailIsBounded: in TLS a peer can have us answer as often as it likes, by asking
// for new keys, and read nothing of it.
func TestTailIsBounded(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = unix.Close(pair[0]), unix.Close(pair[1]) }()
	s := newSeat(pair[0], &direction{})
	for range 1 << 20 {
		if _, err = s.write(make([]byte, 27)); err != nil {
			break
		}
	}
	if err == nil || len(s.tail) > mostTail {
		t.Errorf("%d bytes are kept, %v", len(s.tail), err)
	}
}
