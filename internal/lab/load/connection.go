package load

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"unique"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// The bounds of one answer: its bytes, and how many provisional ones may precede it.
const (
	maxAnswer      = 1 << 20
	maxProvisional = 5
)

// connection is one connection of a client. One request at a time uses it.
type connection struct {
	net.Conn
	// fresh: it is for one request only.
	fresh bool
	in    *bufio.Reader
	out   []byte
	// left is how many bytes of the answer may follow, failed what ended reading it.
	left   int
	failed error
	// socket is nil for a connection that is not the kernel's.
	socket syscall.RawConn
}

func newConnection(c net.Conn, fresh bool) *connection {
	conn := &connection{Conn: c, fresh: fresh}
	conn.in = bufio.NewReaderSize(limited{conn}, 1024)
	if s, ok := c.(syscall.Conn); ok {
		conn.socket, _ = s.SyscallConn()
	}
	return conn
}

// limited reads an answer from the socket of a connection.
type limited struct{ conn *connection }

var errTooLong = fmt.Errorf("the answer is longer than %d bytes", maxAnswer)

func (l limited) Read(to []byte) (int, error) {
	if l.conn.left == 0 {
		l.conn.failed = errTooLong
		return 0, errTooLong
	}
	n, err := l.conn.Conn.Read(to[:min(len(to), l.conn.left)])
	l.conn.left -= n
	l.conn.failed = err
	return n, err
}

// quiet tells whether the peer has neither closed nor said anything while the connection
// was kept. Its deadline must be in the future.
func (c *connection) quiet() bool {
	if c.socket == nil {
		return true
	}
	var one [1]byte
	var failed error
	n := 0
	err := c.socket.Read(func(fd uintptr) bool {
		n, failed = syscall.Read(int(fd), one[:])
		return true // never wait
	})
	return err == nil && n <= 0 && errors.Is(failed, syscall.EAGAIN)
}

// answer is what a client needs of an answer that it has read to the last byte.
type answer struct {
	code    int
	backend string // that says it answered
	echo    string // the id of the request that it answered
	last    bool   // no request can follow on this connection
}

// exchange sends the request with that id and reads its answer to the last byte.
func (c *connection) exchange(host string, id uint64) (answer, error) {
	if _, err := c.Write(c.request(host, id)); err != nil {
		return answer{}, err
	}
	got, err := c.read()
	if err != nil && c.failed != nil {
		// What ended the connection, not what the parser made of it.
		err = c.failed
	}
	return got, err
}

// read reads one answer to its last byte.
func (c *connection) read() (answer, error) {
	c.left = maxAnswer
	response, err := c.header()
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }() // what matters was read
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return answer{}, err
	}
	if response.ContentLength < 0 && len(response.TransferEncoding) == 0 {
		return answer{}, errors.New("the answer ends where the connection does: it may not be whole")
	}
	return answer{
		code: response.StatusCode,
		// Names occur by the thousand; one copy of each outlives the answers.
		backend: unique.Make(response.Header.Get(proxy.HeaderBackend)).Value(),
		echo:    response.Header.Get(proxy.HeaderRequest),
		last:    response.Close || c.in.Buffered() > 0,
	}, nil
}

// request returns the bytes of a request, valid until the next one. Its path is its id
// too, for logs that have no header of ours.
func (c *connection) request(host string, id uint64) []byte {
	c.out = fmt.Appendf(c.out[:0], "GET /%d HTTP/1.1\r\nHost: %s\r\n%s: ", id, host, proxy.HeaderRequest)
	c.out = strconv.AppendUint(c.out, id, 10)
	if c.fresh {
		c.out = append(c.out, "\r\nConnection: close"...)
	}
	c.out = append(c.out, "\r\n\r\n"...)
	return c.out
}

// header reads up to the header of the final answer.
func (c *connection) header() (*http.Response, error) {
	for range maxProvisional {
		response, err := http.ReadResponse(c.in, nil)
		if err != nil {
			return nil, err
		}
		if response.StatusCode >= 200 || response.StatusCode == http.StatusSwitchingProtocols {
			return response, nil
		}
	}
	return nil, fmt.Errorf("more than %d provisional answers", maxProvisional)
}
