package arena

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// tap watches the packets that this network namespace sends. Each is seen once, when
// it leaves: by lo if its address is here, else by the hole that swallows it.
type tap struct {
	now  func() lab.Moment
	hole int // interface index
	file *os.File
	conn syscall.RawConn
	done chan struct{}

	mu      sync.Mutex
	tries   *tries
	missed  uint32 // packets
	failure error
}

// openTap opens it. Its owner must close it.
func openTap(now func() lab.Moment) (*tap, error) {
	link, err := net.InterfaceByName(hole)
	if err != nil {
		return nil, fmt.Errorf("find %s, which only a leg has: %w", hole, err)
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open a packet socket: %w", err)
	}
	t := &tap{now: now, hole: link.Index, file: os.NewFile(uintptr(fd), "tap"), done: make(chan struct{}), tries: newTries()}
	if err := listen(fd); err != nil {
		t.file.Close()
		return nil, err
	}
	if t.conn, err = t.file.SyscallConn(); err != nil {
		t.file.Close()
		return nil, fmt.Errorf("watch packets: %w", err)
	}
	go func() {
		defer close(t.done)
		_ = t.conn.Read(t.drain) // until close
	}()
	return t, nil
}

// listen makes a packet socket take what the filter lets through, and only that.
func listen(fd int) error {
	instructions, err := filter()
	if err != nil {
		return err
	}
	program := &unix.SockFprog{Len: uint16(len(instructions)), Filter: &instructions[0]}
	if err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, program); err != nil {
		return fmt.Errorf("attach the packet filter: %w", err)
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1); err != nil {
		return fmt.Errorf("have packets dated: %w", err)
	}
	const space = 16 << 20
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, space) != nil {
		// Without the right to, as much as everybody may.
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, space); err != nil {
			return fmt.Errorf("make room for packets: %w", err)
		}
	}
	const all = unix.ETH_P_ALL<<8&0xff00 | unix.ETH_P_ALL>>8 // in network order; no less shows what is sent
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all}); err != nil {
		return fmt.Errorf("watch packets: %w", err)
	}
	return nil
}

// drain takes all packets that wait, and returns whether the socket is of no use
// any more.
func (t *tap) drain(fd uintptr) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	var packet, control [128]byte
	for {
		n, m, _, from, err := unix.Recvmsg(int(fd), packet[:], control[:], 0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return false
		case err != nil:
			t.failure = fmt.Errorf("watch packets: %w", err)
			return true
		}
		link, isLink := from.(*unix.SockaddrLinklayer)
		if s, ok := decode(packet[:n]); ok && isLink {
			t.tries.see(t.moment(control[:m]), s, link.Ifindex == t.hole)
		}
	}
}

// moment returns when a packet was sent. The kernel dates it by the wall clock; only
// its age is taken from that, so the clock may be set during a run.
func (t *tap) moment(control []byte) lab.Moment {
	now, wall := t.clocks()
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return now
	}
	for _, m := range messages {
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SCM_TIMESTAMPNS && len(m.Data) == 16 {
			seconds, nanos := binary.NativeEndian.Uint64(m.Data), binary.NativeEndian.Uint64(m.Data[8:])
			age := wall.Sub(time.Unix(int64(seconds), int64(nanos)))
			return max(0, now-lab.Moment(max(0, age)))
		}
	}
	return now
}

// clocks reads both clocks at the same time, as far as a busy machine lets it.
func (t *tap) clocks() (now lab.Moment, wall time.Time) {
	const same, times = lab.Moment(50 * time.Microsecond), 5
	for range times {
		now, wall = t.now(), time.Now()
		if t.now()-now < same {
			break
		}
	}
	return now, wall
}

// inVain returns the tries in vain up to now. An error means that some may be missing.
func (t *tap) inVain() ([]found, error) {
	err := t.conn.Control(func(fd uintptr) {
		t.drain(fd)
		t.mu.Lock()
		defer t.mu.Unlock()
		stats, err := unix.GetsockoptTpacketStats(int(fd), unix.SOL_PACKET, unix.PACKET_STATISTICS)
		if err != nil {
			t.failure = fmt.Errorf("ask how many packets were missed: %w", err)
			return
		}
		t.missed += stats.Drops // the kernel starts again at 0
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		err = t.failure
	}
	if err == nil && t.missed > 0 {
		err = fmt.Errorf("%d packets were missed, so tries in vain are too: lower the rate", t.missed)
	}
	return t.tries.inVain(), err
}

func (t *tap) close() error {
	err := t.file.Close()
	<-t.done
	return err
}
