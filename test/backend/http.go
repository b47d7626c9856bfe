package backend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Answer is what an HTTP backend says about the request that reached it.
type Answer struct {
	Backend string `json:"backend"`
	Method  string `json:"method"`
	Host    string `json:"host"`
	Path    string `json:"path"`
	Query   string `json:"query,omitempty"`
	Proto   string `json:"proto"` // "HTTP/1.1"
	// Marks are the values of the header X-Mark, in order: what filters on the
	// way put there to be recognised.
	Marks   []string    `json:"marks,omitempty"`
	Headers http.Header `json:"headers"`
}

// Headers of a request that change the answer.
const (
	// MarkHeader is where filters leave their marks.
	MarkHeader = "X-Mark"
	// StatusHeader asks for another status than 200.
	StatusHeader = "X-Answer-Status"
	// DelayHeader asks for a pause before the answer, such as "200ms".
	DelayHeader = "X-Answer-Delay"
	// EchoPrefix begins the names of headers that come back without it:
	// "X-Echo-Server: a" is answered with "Server: a".
	EchoPrefix = "X-Echo-"
	// NameHeader of the answer is the backend's name.
	NameHeader = "X-Backend"
)

// HTTP is a running HTTP backend, for HTTP/1.1 and for HTTP/2 with prior knowledge.
type HTTP struct {
	Name   string
	Addr   netip.AddrPort
	server *http.Server
	done   sync.WaitGroup

	delayed, asked atomic.Int64
	sockets        sockets
}

// StartHTTP starts a backend on address, for example "127.0.0.1:0".
func StartHTTP(ctx context.Context, name, address string) (*HTTP, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("backend %s: %w", name, err)
	}
	b := &HTTP{Name: name, Addr: addrPort(l)}
	b.server = &http.Server{Handler: b, ReadHeaderTimeout: 10 * time.Second, Protocols: new(http.Protocols)}
	b.server.Protocols.SetHTTP1(true)
	b.server.Protocols.SetUnencryptedHTTP2(true)
	b.done.Go(func() { _ = b.server.Serve(l) })
	return b, nil
}

// Close ends the backend at once, with open connections, and waits.
func (b *HTTP) Close() error {
	err := b.server.Close()
	b.sockets.close()
	b.done.Wait()
	return err
}

// ServeHTTP answers with an Answer as JSON, or talks by WebSocket when asked to.
func (b *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.asked.Add(1)
	if isWebSocket(r) {
		b.converse(w, r)
		return
	}
	if !b.pause(r) {
		return
	}
	for name, values := range r.Header {
		if echoed, ok := strings.CutPrefix(name, EchoPrefix); ok {
			w.Header()[http.CanonicalHeaderKey(echoed)] = values
		}
	}
	w.Header().Set(NameHeader, b.Name)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status(r))
	_ = json.NewEncoder(w).Encode(Answer{
		Backend: b.Name, Method: r.Method, Host: r.Host, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery,
		Proto: r.Proto, Marks: r.Header.Values(MarkHeader), Headers: r.Header,
	})
}

// pause waits as long as the request asks for, and reports whether its client still waits.
func (b *HTTP) pause(r *http.Request) bool {
	delay, err := time.ParseDuration(r.Header.Get(DelayHeader))
	if err != nil {
		return true
	}
	b.delayed.Add(1)
	defer b.delayed.Add(-1)
	select {
	case <-time.After(delay):
		return true
	case <-r.Context().Done():
		return false
	}
}

// Requests returns how many requests have reached it.
func (b *HTTP) Requests() int64 { return b.asked.Load() }

// Delayed returns how many requests wait for a pause that they asked for.
func (b *HTTP) Delayed() int { return int(b.delayed.Load()) }

func status(r *http.Request) int {
	code, err := strconv.Atoi(r.Header.Get(StatusHeader))
	if err != nil || code < 200 || code > 599 {
		return http.StatusOK
	}
	return code
}

// ErrNotOurs is returned by ReadAnswer for a body that no backend wrote.
var ErrNotOurs = errors.New("the answer is not from a backend")

// ReadAnswer decodes the body of a backend's answer.
func ReadAnswer(body []byte) (Answer, error) {
	var a Answer
	if err := json.Unmarshal(body, &a); err != nil || a.Backend == "" {
		return Answer{}, fmt.Errorf("%w: %q", ErrNotOurs, body)
	}
	return a, nil
}

func addrPort(l net.Listener) netip.AddrPort { return l.Addr().(*net.TCPAddr).AddrPort() }
