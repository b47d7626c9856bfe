package haproxy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// logForm is what HAProxy logs of each request, when it ends: the request's id, how
// often it was tried again, and the last server. A "+" before the count says that the
// last try was at another server.
const logForm = "request %[capture.req.hdr(0)] %rc %s"

// requestLog takes HAProxy's log, a datagram for each line. They come by UDP: a Unix
// socket has room for ten (net.unix.max_dgram_qlen), and HAProxy drops what does not fit.
type requestLog struct {
	conn *net.UDPConn
	done sync.WaitGroup

	mu    sync.Mutex
	tried map[uint64]int
	marks map[string]chan struct{} // closed when the mark has been read
}

func newRequestLog() *requestLog {
	return &requestLog{tried: map[uint64]int{}, marks: map[string]chan struct{}{}}
}

// receiveBuffer holds thousands of lines while this process does not read.
const receiveBuffer = 4 << 20

func (l *requestLog) listen(ctx context.Context) error {
	conn, err := new(net.ListenConfig).ListenPacket(ctx, "udp4", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for haproxy's log: %w", err)
	}
	l.conn = conn.(*net.UDPConn)
	raw, err := l.conn.SyscallConn()
	if err != nil {
		return fmt.Errorf("listen for haproxy's log: %w", err)
	}
	// Only root may pass the machine's limit, net.core.rmem_max.
	_ = l.conn.SetReadBuffer(receiveBuffer)
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer)
	})
	l.done.Go(l.read)
	return nil
}

// address is where HAProxy sends its log to.
func (l *requestLog) address() string { return l.conn.LocalAddr().String() }

func (l *requestLog) close() {
	if l.conn != nil {
		_ = l.conn.Close()
		l.done.Wait()
	}
}

func (l *requestLog) read() {
	const maxLine = 2048
	line := make([]byte, maxLine)
	for {
		n, err := l.conn.Read(line)
		if err != nil {
			return
		}
		l.take(strings.TrimSpace(string(line[:n])))
	}
}

// take notes a line: "request 17 3 10.0.1.11", or a mark. Others say what HAProxy did.
func (l *requestLog) take(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if mark, ok := l.marks[line]; ok {
		close(mark)
		delete(l.marks, line)
		return
	}
	fields := strings.Fields(line)
	if len(fields) != 4 || fields[0] != "request" {
		return
	}
	id, err := strconv.ParseUint(fields[1], 10, 64)
	again, err2 := strconv.Atoi(strings.TrimPrefix(fields[2], "+"))
	if err != nil || err2 != nil {
		return
	}
	if l.tried[id] = again + 1; fields[3] == "<NOSRV>" {
		l.tried[id] = 0
	}
}

// attempts returns how many tries each request took that has been logged by now. It
// sends a mark to itself: what was logged before has then been read.
func (l *requestLog) attempts(ctx context.Context) (map[uint64]int, error) {
	l.mu.Lock()
	name, mark := fmt.Sprintf("mark %d", len(l.tried)), make(chan struct{})
	l.marks[name] = mark
	l.mu.Unlock()
	to, err := new(net.Dialer).DialContext(ctx, "udp4", l.address())
	if err != nil {
		return nil, fmt.Errorf("mark haproxy's log: %w", err)
	}
	defer to.Close()
	if _, err := to.Write([]byte(name)); err != nil {
		return nil, fmt.Errorf("mark haproxy's log: %w", err)
	}
	select {
	case <-mark:
	case <-ctx.Done():
		return nil, fmt.Errorf("read haproxy's log: %w", context.Cause(ctx))
	}
	if err := l.lost(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.tried), nil
}

// lost asks the kernel how many lines had no room: the last column of the socket's line
// in /proc/net/udp, whose second column is its address, in hexadecimal digits.
func (l *requestLog) lost() error {
	table, err := os.ReadFile("/proc/net/udp")
	if err != nil {
		return fmt.Errorf("see whether haproxy's log is whole: %w", err)
	}
	port := fmt.Sprintf(":%04X", l.conn.LocalAddr().(*net.UDPAddr).Port)
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || !strings.HasSuffix(fields[1], port) {
			continue
		}
		if drops := fields[len(fields)-1]; drops != "0" {
			return fmt.Errorf("haproxy's log has lost %s lines: ask for a lower rate, or raise the machine's net.core.rmem_max", drops)
		}
		return nil
	}
	return errors.New("see whether haproxy's log is whole: /proc/net/udp does not list its socket")
}
