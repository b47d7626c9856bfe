package proxy

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestControlBesideARelay: the kernel can be asked about a connection as long as its
// relay runs, wherever that has put it.
func TestControlBesideARelay(t *testing.T) {
	each(t, func(t *testing.T, d dress) {
		rawA, inA := connect(t)
		inB, b := connect(t)
		c := Wrap(inB)
		relay := NewRelay(inA, c, Options{})
		relay.apart = d.apart
		done := make(chan Result, 1)
		go func() { done <- relay.Run(t.Context()) }()
		send(t, rawA, "x")
		expect(t, b, "x")
		port := 0
		if !c.control(func(descriptor uintptr) {
			if name, err := unix.Getpeername(int(descriptor)); err == nil {
				port = name.(*unix.SockaddrInet4).Port
			}
		}) || c.RemoteAddr().String() != b.LocalAddr().String() || port == 0 {
			t.Errorf("the descriptor is of %d, the connection of %v", port, c.RemoteAddr())
		}
		_, _ = rawA.Close(), b.Close()
		<-done
		if c.control(func(uintptr) { t.Error("called") }) {
			t.Error("the connection is still there")
		}
	})
}
