package forward

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
)

// upload is the content of a request on its way. Net/http reads and closes it, at
// times after the response has come.
type upload struct {
	exchange *exchange
	body     io.ReadCloser
	expected bool        // the client waits for 100 (Continue)
	done     atomic.Bool // all has been read
	broken   atomic.Bool // it cannot be read to its end
	closing  sync.Once
	closed   chan struct{}
}

// upload begins to watch the client at once where there is nothing to read.
func (e *exchange) upload(req *http.Request) *upload {
	u := &upload{exchange: e, body: req.Body, closed: make(chan struct{})}
	if req.ContentLength == 0 {
		u.finish()
		_ = u.Close()
		return u
	}
	u.expected = strings.EqualFold(req.Header.Get("Expect"), "100-continue")
	return u
}

// finish notes that all has been read: from now on only the client's end can come.
func (u *upload) finish() {
	if !u.done.Swap(true) {
		u.exchange.watch()
	}
}

var errAbandoned = errors.New("the rest of the request is not wanted")

// Read asks the client to go on before it reads for the first time.
func (u *upload) Read(p []byte) (int, error) {
	if u.expected {
		u.expected = false
		if err := u.exchange.inform(http.StatusContinue, nil); err != nil {
			return 0, err
		}
	}
	if u.exchange.ctx.Err() != nil {
		return 0, errAbandoned
	}
	n, err := u.body.Read(p)
	u.exchange.touch()
	switch {
	case errors.Is(err, io.EOF):
		u.finish()
	case err != nil:
		u.broken.Store(true)
	}
	return n, err
}

// Close is net/http's word that it reads no more.
func (u *upload) Close() error {
	u.closing.Do(func() { close(u.closed) })
	return nil
}

// abandon wakes whoever reads.
func (u *upload) abandon() { u.exchange.cancel(errAbandoned) }

// wait waits until nobody reads.
func (u *upload) wait() { <-u.closed }
