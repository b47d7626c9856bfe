package proxy

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
)

// tapped keeps what was read from a connection.
type tapped struct {
	net.Conn
	mu   sync.Mutex
	seen bytes.Buffer
}

func (c *tapped) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen.Write(p[:n])
	return n, err
}

// largest is the length of the largest record of application data that has come.
func (c *tapped) largest() (most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for b := c.seen.Bytes(); len(b) >= 5; {
		size := int(binary.BigEndian.Uint16(b[3:]))
		if b[0] == 23 { // application_data (RFC 8446, 5.1)
			most = max(most, size)
		}
		b = b[min(len(b), 5+size):]
	}
	return most
}

func TestRecordsAreBounded(t *testing.T) {
	const record, overhead = 8192, 1 + 16 // the type within and the tag
	for name, bound := range map[string]int{"bounded": record, "not bounded": 0} {
		t.Run(name, func(t *testing.T) {
			client, a := connect(t)
			server, b := connect(t)
			tap := &tapped{Conn: client}
			r := NewRelay(tls.Server(Wrap(a), serverTLS()), Wrap(b), Options{Record: bound})
			var run sync.WaitGroup
			run.Go(func() { r.Run(t.Context()) })
			content := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
			run.Go(func() {
				_, _ = server.Write(content)
				_ = server.CloseWrite()
			})
			got, err := io.ReadAll(tlsClient(tap))
			if err != nil || !bytes.Equal(got, content) {
				t.Errorf("%d bytes of %d, %v", len(got), len(content), err)
			}
			_ = client.Close()
			run.Wait()
			if most := tap.largest(); bound > 0 && most > record+overhead || bound == 0 && most <= record+overhead {
				t.Errorf("the largest record has %d bytes", most)
			}
		})
	}
}
