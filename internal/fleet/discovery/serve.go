package discovery

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

// limits are those of a server.
type limits struct {
	connections                      int
	header, read, write, idle, grace time.Duration
}

// usual limits let a request wait as long as it may, and nobody dawdle.
var usual = limits{
	connections: 8192, header: 5 * time.Second, read: 10 * time.Second, write: MaxWait + 15*time.Second,
	idle: 75 * time.Second, grace: 5 * time.Second,
}

const maxHeader = 16 << 10

// Serve answers on a listener until ctx ends. Then those who wait are answered at once,
// requests under way get 5 seconds, and it returns nil. It closes the listener and leaves
// no goroutine.
func (a *API) Serve(ctx context.Context, l net.Listener) error {
	crowd := newCrowd(l, a.limits.connections)
	server := &http.Server{
		Handler: a, ConnState: crowd.changed, MaxHeaderBytes: maxHeader,
		ReadHeaderTimeout: a.limits.header, ReadTimeout: a.limits.read, WriteTimeout: a.limits.write, IdleTimeout: a.limits.idle,
		ErrorLog: log.New(io.Discard, "", 0), // of clients' mistakes only; ours are answered
	}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		a.Stop()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.limits.grace)
		defer cancel()
		if server.Shutdown(grace) != nil {
			_ = server.Close()
		}
	})
	err := server.Serve(crowd)
	if !stop() { // ctx ended, and its function runs or ran
		<-stopped
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
