package haproxy

import (
	"context"
	"fmt"
	"maps"
	"net"
	"strconv"
	"strings"
	"sync"
)

// logForm is what HAProxy logs of each request, when it ends: the request's id, how
// often it was tried again, and the last server. A "+" before the count says that the
// last try was at another server.
const logForm = "request %[capture.req.hdr(0)] %rc %s"

// requestLog takes HAProxy's log, a datagram for each line.
type requestLog struct {
	path string
	conn *net.UnixConn
	done sync.WaitGroup

	mu    sync.Mutex
	tried map[uint64]int
	marks map[string]chan struct{} // closed when the mark has been read
}

func newRequestLog(path string) *requestLog {
	return &requestLog{path: path, tried: map[uint64]int{}, marks: map[string]chan struct{}{}}
}

// receiveBuffer holds what is logged while this process does not read; HAProxy drops
// what does not fit.
const receiveBuffer = 4 << 20

func (l *requestLog) listen(ctx context.Context) error {
	conn, err := new(net.ListenConfig).ListenPacket(ctx, "unixgram", l.path)
	if err != nil {
		return fmt.Errorf("listen for haproxy's log: %w", err)
	}
	l.conn = conn.(*net.UnixConn)
	_ = l.conn.SetReadBuffer(receiveBuffer) // the default holds hundreds
	l.done.Go(l.read)
	return nil
}

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
	to, err := new(net.Dialer).DialContext(ctx, "unixgram", l.path)
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
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.tried), nil
}
