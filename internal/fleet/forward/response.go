package forward

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
)

// deliver writes the target's response to the client, as it comes.
func (e *exchange) deliver(req *http.Request, resp *http.Response, p *Passage, keep bool) error {
	defer func() { _ = resp.Body.Close() }()
	e.touch()
	e.respond()
	switch resp.StatusCode {
	case http.StatusProxyAuthRequired:
		return e.answer(req, errAuth407, keep)
	case http.StatusSwitchingProtocols: // its content has no end, and does not end with ctx
		return e.answer(req, errUpgrade, keep)
	}
	removeHopByHop(resp.Header)
	if p != nil {
		e.tell(resp.Header, p.Told)
	}
	resp.Request, resp.Close = req, !keep
	resp.Proto, resp.ProtoMajor, resp.ProtoMinor = "HTTP/1.1", 1, 1
	resp.TransferEncoding = nil
	if resp.ContentLength < 0 && e.newer {
		resp.TransferEncoding = []string{"chunked"}
	}
	out := bufio.NewWriterSize(e.conn, writeBytes)
	resp.Body = &download{ReadCloser: resp.Body, exchange: e, out: out, small: resp.ContentLength >= 0 && resp.ContentLength < writeBytes}
	return errors.Join(resp.Write(onlyWriter{out}), out.Flush())
}

// writeBytes are gathered before they are written, unless the target makes a pause.
const writeBytes = 4 << 10

// download is the content of a response on its way.
type download struct {
	io.ReadCloser
	exchange *exchange
	out      *bufio.Writer
	small    bool // the head can wait for the content
}

// Read lets the client have everything so far before it waits for more.
func (d *download) Read(p []byte) (int, error) {
	if !d.small {
		if err := d.out.Flush(); err != nil {
			return 0, err
		}
	}
	n, err := d.ReadCloser.Read(p)
	d.exchange.touch()
	return n, err
}

// onlyWriter hides ReadFrom, during which the buffer could not be flushed.
type onlyWriter struct{ io.Writer }

// why is the error that a client is told: the end of the exchange is the cause of what
// failed after it.
func (e *exchange) why(err error) error {
	if cause := context.Cause(e.ctx); cause != nil && !errors.Is(cause, errAbandoned) {
		return cause
	}
	return err
}

// reset tells a client that a response is not complete where its end is nothing but
// the end of the connection.
func (x *session) reset() {
	if tcp, ok := x.raw.NetConn().(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}

// writeResponse writes a response that is all there.
func writeResponse(w io.Writer, resp *http.Response) error {
	out := bufio.NewWriterSize(w, writeBytes)
	if err := resp.Write(onlyWriter{out}); err != nil {
		return err
	}
	return out.Flush()
}
