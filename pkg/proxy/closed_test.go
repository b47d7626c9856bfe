package proxy

import (
	"context"
	"io"
	"testing"
	"time"
)

// What ends a wait for the peer's end, and what of the stream is left to read.
func TestAwaitClosed(t *testing.T) {
	for name, c := range map[string]struct {
		sent   string
		closes bool
	}{
		"silence":                          {},
		"bytes":                            {sent: "more"},
		"the end":                          {closes: true},
		"the end after bytes not read":     {sent: "more", closes: true},
		"the end after many bytes, unread": {sent: string(make([]byte, 64<<10)), closes: true},
	} {
		t.Run(name, func(t *testing.T) {
			peer, accepted := connect(t)
			conn := Wrap(accepted)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan bool, 1)
			go func() { ended <- conn.AwaitClosed(ctx) }()
			send(t, peer, c.sent)
			if c.closes {
				_ = peer.CloseWrite()
			} else {
				cancel()
			}
			select {
			case closed := <-ended:
				if closed != c.closes {
					t.Errorf("closed %v", closed)
				}
			case <-time.After(patience):
				t.Fatal("it waits")
			}
			send(t, accepted, "still open")
			expect(t, peer, "still open")
			if got := make([]byte, len(c.sent)); len(got) > 0 {
				if _, err := io.ReadFull(conn, got); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
