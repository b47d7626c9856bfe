package backend

import (
	"net/http"
	"strings"
	"sync"

	"golang.org/x/net/websocket"
)

// sockets are the open WebSockets of a backend, which the server no longer knows.
type sockets struct {
	mu     sync.Mutex
	open   map[*websocket.Conn]bool
	closed bool
	done   sync.WaitGroup
}

// add reports whether the socket may go on.
func (s *sockets) add(conn *websocket.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if s.open == nil {
		s.open = map[*websocket.Conn]bool{}
	}
	s.open[conn] = true
	s.done.Add(1)
	return true
}

func (s *sockets) remove(conn *websocket.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, conn)
	s.done.Done()
}

// close ends the sockets and waits for their handlers.
func (s *sockets) close() {
	s.mu.Lock()
	s.closed = true
	for conn := range s.open {
		_ = conn.Close()
	}
	s.mu.Unlock()
	s.done.Wait()
}

// isWebSocket reports whether a request asks for a WebSocket.
func isWebSocket(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// converse answers each message of a WebSocket with the backend's name, the marks
// of its request, and the message.
func (b *HTTP) converse(w http.ResponseWriter, r *http.Request) {
	words := append([]string{b.Name}, r.Header.Values(MarkHeader)...)
	websocket.Server{Handler: func(conn *websocket.Conn) {
		if !b.sockets.add(conn) {
			return
		}
		defer b.sockets.remove(conn)
		for {
			var message string
			if websocket.Message.Receive(conn, &message) != nil {
				return
			}
			if websocket.Message.Send(conn, strings.Join(append(words, message), " ")) != nil {
				return
			}
		}
	}}.ServeHTTP(w, r)
}
