package arena

import (
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// Packets that the tap could not take are never passed over in silence: from then on
// its answer is an error, also when the kernel counts from zero again.
func TestMissedPackets(t *testing.T) {
	a, err := New(Options{Now: func() lab.Moment { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := a.TriesInVain(); err != nil {
		t.Fatalf("before: %v", err)
	}
	narrow(t, a.tap)
	a.tap.mu.Lock() // the reader waits, as on a machine that is too busy
	for range 100 {
		if c, err := net.DialTimeout("tcp", "10.0.1.11:8080", time.Millisecond); err == nil {
			c.Close()
			t.Error("somebody answers")
		}
	}
	a.tap.mu.Unlock()
	for range 2 {
		got, err := a.TriesInVain()
		if err == nil || !strings.Contains(err.Error(), "packets were missed") || !strings.Contains(err.Error(), "lower the rate") {
			t.Errorf("error %v, want how many packets were missed, and the remedy", err)
		}
		if len(got) == 0 || len(got) >= 100 {
			t.Errorf("%d tries are left of 100, want some", len(got))
		}
	}
}

// narrow leaves the socket room for a few packets only.
func narrow(t *testing.T, tap *tap) {
	t.Helper()
	var failed error
	err := tap.conn.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 1) })
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
}
