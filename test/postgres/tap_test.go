package postgres_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// A tap passes connections on and remembers how each client began to speak.
type tap struct {
	address string
	mu      sync.Mutex
	first   []*[]byte
}

// tapFirst is how many bytes of a client a tap remembers.
const tapFirst = 64

func startTap(t *testing.T, to string) *tap {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	tp := &tap{address: l.Addr().String()}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { tp.pass(ctx, client, to) })
		}
	})
	t.Cleanup(func() { stop(); _ = l.Close(); all.Wait() })
	return tp
}

func (tp *tap) pass(ctx context.Context, client net.Conn, to string) {
	defer client.Close()
	server, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, "tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	defer context.AfterFunc(ctx, func() { _, _ = client.Close(), server.Close() })()
	first := new([]byte)
	tp.mu.Lock()
	tp.first = append(tp.first, first)
	tp.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { tp.copy(server, client, first) })
	both.Go(func() { tp.copy(client, server, nil) })
	both.Wait()
}

// copy passes on what one side says, and that it ended.
func (tp *tap) copy(to, from net.Conn, first *[]byte) {
	buffer := make([]byte, 16<<10)
	for {
		n, err := from.Read(buffer)
		if first != nil {
			tp.mu.Lock()
			*first = append(*first, buffer[:min(n, tapFirst-len(*first))]...)
			tp.mu.Unlock()
		}
		if _, failed := to.Write(buffer[:n]); err != nil || failed != nil {
			if errors.Is(err, io.EOF) {
				_ = to.(*net.TCPConn).CloseWrite()
				return
			}
			_, _ = to.Close(), from.Close()
			return
		}
	}
}

// kinds says how each client began, in order of their coming.
func (tp *tap) kinds() string {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	var out []string
	for _, first := range tp.first {
		out = append(out, kind(*first))
	}
	return strings.Join(out, " ")
}

// kind says how a client begins: "direct" TLS, "tls" on request, or in clear.
func kind(first []byte) string {
	if len(first) < 8 {
		return "nothing"
	}
	if first[0] == 0x16 {
		return "direct"
	}
	switch code := binary.BigEndian.Uint32(first[4:]); {
	case code == 80877103 && len(first) > 8 && first[8] == 0x16:
		return "tls"
	case code == 80877102 && first[3] == 44:
		return "cancel-32"
	case code == 80877102:
		return "cancel"
	case code>>16 == 3:
		return "startup"
	}
	return "other"
}
