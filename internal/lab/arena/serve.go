package arena

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// order is what an arena tells a backend process that waits: who it is, in one line of
// JSON on its standard input.
type order struct {
	Name    string        `json:"name"`
	Address netip.Addr    `json:"address"`
	Delay   time.Duration `json:"delay"`
}

// What a backend process says on its standard output, a line each.
const (
	waiting   = "waiting"
	listening = "listening"
)

// ServeBackend is the life of a backend process. It waits on in for its name and
// address, says on out that it listens, and answers every HTTP request with its name
// and the request's id, until ctx ends: then it refuses connections, finishes what is
// in flight, and returns nil. It returns nil too if in ends before there is an order.
func ServeBackend(ctx context.Context, in io.Reader, out io.Writer) error {
	if _, err := fmt.Fprintln(out, waiting); err != nil {
		return fmt.Errorf("say that a backend waits: %w", err)
	}
	line, err := bufio.NewReader(in).ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read who to be: %w", err)
	}
	var o order
	if err := json.Unmarshal(line, &o); err != nil {
		return fmt.Errorf("read who to be: %w", err)
	}
	listener, err := o.listen(ctx)
	if err != nil {
		return err
	}
	defer listener.Close()
	if _, err := fmt.Fprintln(out, listening); err != nil {
		return fmt.Errorf("say that %s listens: %w", o.Name, err)
	}
	return o.serve(ctx, listener)
}

// listen takes the port, and waits for it while the last owner still has it.
func (o order) listen(ctx context.Context) (net.Listener, error) {
	const patience, pause = 5 * time.Second, 2 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	address := netip.AddrPortFrom(o.Address, proxy.BackendPort).String()
	for {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if !errors.Is(err, syscall.EADDRINUSE) {
			return listener, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(pause):
		}
	}
}

func (o order) serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{Handler: o, ReadHeaderTimeout: time.Minute}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve as %s: %w", o.Name, err)
	case <-ctx.Done():
	}
	const longest = time.Minute // no request of the laboratory takes longer
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), longest)
	defer cancel()
	err := server.Shutdown(last)
	<-failed
	return err
}

// ServeHTTP implements [http.Handler].
func (o order) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // a broken one breaks the answer too
	if o.Delay > 0 {
		select {
		case <-time.After(o.Delay):
		case <-r.Context().Done():
			return
		}
	}
	w.Header().Set(proxy.HeaderBackend, o.Name)
	w.Header().Set(proxy.HeaderRequest, r.Header.Get(proxy.HeaderRequest))
	w.Header().Set("Content-Type", "text/plain")
	_, _ = fmt.Fprintln(w, o.Name)
}
