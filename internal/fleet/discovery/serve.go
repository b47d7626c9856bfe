package discovery

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
)

// Limits of a server. A request for a lease may wait [MaxWait] for its answer.
const (
	maxConnections = 8192
	headerTime     = 5 * time.Second
	readTime       = 10 * time.Second
	writeTime      = MaxWait + 15*time.Second
	idleTime       = 75 * time.Second
	maxHeader      = 16 << 10
	graceTime      = 5 * time.Second
)

// Serve answers on a listener until ctx ends. Then those who wait are answered at once,
// requests under way get 5 seconds, and it returns nil. It closes the listener and leaves
// no goroutine.
func (a *API) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler: a, ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       log.New(io.Discard, "", 0), // of clients' mistakes only; ours are answered
	}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		a.Stop()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), graceTime)
		defer cancel()
		if server.Shutdown(grace) != nil {
			_ = server.Close()
		}
	})
	err := server.Serve(netutil.LimitListener(l, maxConnections))
	if !stop() { // ctx ended, and its function runs or ran
		<-stopped
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
