package proxy

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// loop is a goroutine that waits in epoll for the connections of many relays and
// moves their bytes: what arrives costs one wait for all that has, one read and one
// write, and a relay has no stack of its own. It stays on the loop it has joined.
//
// The connections are watched edge-triggered, so that nothing is told to the kernel
// while bytes move.
type loop struct {
	epoll, bell int // the bell is an eventfd
	relays      int // guarded by loops.mu
	ended       chan struct{}

	seats []*seat // by descriptor
	buf   [bufferSize]byte
	again []*direction // have more to do than a turn allows
	spare []*direction // memory of again

	mu     sync.Mutex
	posted []*circuit // to look at
	rung   bool       // the bell was, since the last answer
	leave  bool
}

func newLoop() (*loop, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	bell, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, errors.Join(os.NewSyscallError("eventfd", err), unix.Close(epoll))
	}
	l := &loop{epoll: epoll, bell: bell, ended: make(chan struct{})}
	if err := l.watch(bell, unix.EPOLLIN); err != nil {
		return nil, errors.Join(err, unix.Close(bell), unix.Close(epoll))
	}
	go l.run()
	return l, nil
}

// watch has the kernel tell of a descriptor, until that is closed.
func (l *loop) watch(fd int, events uint32) error {
	event := unix.EpollEvent{Events: events | unix.EPOLLET, Fd: int32(fd)}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &event))
}

// end is called when there is no relay any more.
func (l *loop) end() {
	l.mu.Lock()
	l.leave = true
	l.ring()
	l.mu.Unlock()
	<-l.ended
}

// post has the loop look at a circuit.
func (l *loop) post(c *circuit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.posted = append(l.posted, c)
	l.ring()
}

// ring wakes the loop. l.mu is held.
func (l *loop) ring() {
	if !l.rung {
		l.rung = true
		one := [8]byte{1}
		_, _ = unix.Write(l.bell, one[:])
	}
}

// yieldEvery is how long a loop keeps its processor. The scheduler believes that
// a goroutine hangs that does not yield for 10 ms, and then disturbs it.
const yieldEvery = 5 * time.Millisecond

// run is the loop's goroutine, which waits in epoll only.
func (l *loop) run() {
	defer close(l.ended)
	defer func() { _, _ = unix.Close(l.bell), unix.Close(l.epoll) }()
	events := make([]unix.EpollEvent, 128)
	for yielded := time.Now(); ; {
		for _, e := range events[:l.wait(events)] {
			if int(e.Fd) == l.bell {
				if l.answer() {
					return
				}
			} else if s := l.seat(int(e.Fd)); s != nil {
				l.see(s, e.Events)
			}
		}
		l.takeTurns()
		if time.Since(yielded) > yieldEvery {
			runtime.Gosched()
			yielded = time.Now()
		}
	}
}

// wait returns how many events there are.
func (l *loop) wait(events []unix.EpollEvent) int {
	timeout := -1
	if len(l.again) > 0 {
		timeout = 0
	}
	n, err := unix.EpollWait(l.epoll, events, timeout)
	if err != nil {
		return 0 // interrupted
	}
	return n
}

// answer looks at what was posted. It reports whether the loop is to end.
func (l *loop) answer() (leave bool) {
	var eight [8]byte
	l.mu.Lock()
	_, _ = unix.Read(l.bell, eight[:])
	posted := l.posted
	l.posted, l.rung = nil, false
	leave = l.leave
	l.mu.Unlock()
	for _, c := range posted {
		c.posted.Store(false)
		c.sit()
		l.turn(&c.relay.a)
		l.turn(&c.relay.b)
	}
	return leave
}

// seat returns nil for a connection that has left, or does not sit yet: then it is
// looked at when it does.
func (l *loop) seat(fd int) *seat {
	if fd < len(l.seats) {
		return l.seats[fd]
	}
	return nil
}

// see does what an event allows.
func (l *loop) see(s *seat, events uint32) {
	const broken = unix.EPOLLHUP | unix.EPOLLERR
	if events&(unix.EPOLLRDHUP|broken) != 0 {
		s.hangup = true
	}
	if events&(unix.EPOLLIN|unix.EPOLLRDHUP|broken) != 0 {
		s.readable = true
		l.turn(s.out)
	}
	if s.pending() && events&(unix.EPOLLOUT|broken) != 0 {
		l.turn(s.out.back)
	}
}

// turn advances a direction. If it has more to do then, it has another turn when
// all others had theirs.
func (l *loop) turn(d *direction) {
	if d.advance(l.buf[:]) && !d.queued {
		d.queued = true
		l.again = append(l.again, d)
	}
	d.circuit.leaveIfOver()
}

func (l *loop) takeTurns() {
	turns := l.again
	l.again = l.spare[:0]
	for _, d := range turns {
		d.queued = false
		l.turn(d)
	}
	clear(turns) // it keeps no relay that has left
	l.spare = turns
}
