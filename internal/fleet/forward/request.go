package forward

import (
	"context"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/access"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/destination"
)

// forward serves a request for a whole URL.
func (x *session) forward(ctx context.Context, req *http.Request, grant access.Grant) (again bool, err error) {
	x.counters.requests[overHTTP].Add(1)
	to, err := forwardable(req)
	if err != nil {
		return x.refuseHTTP(req, err)
	}
	ctx, e := x.exchange(ctx, grant, req)
	body := e.upload(req)
	resp, passage, err := x.trip(ctx, e, req, to, body) //nolint:bodyclose // deliver does
	defer passage.done()
	defer passage.follow(e.cancel)()
	if err != nil {
		if err = e.why(err); body.broken.Load() && e.ctx.Err() == nil {
			err = errBroken
		}
		body.abandon()
		e.end(body)
		if !body.done.Load() {
			return false, x.leave(x.answer(req, err, false))
		}
		return x.refuseHTTP(req, err)
	}
	keep := x.keeps(req) && body.done.Load()
	err = e.deliver(req, resp, passage, keep)
	if err != nil || !keep {
		body.abandon()
	}
	gone := e.end(body)
	switch {
	case err != nil:
		if !e.newer {
			x.reset()
		}
		return false, err
	case gone || !keep:
		return false, x.leave(nil)
	}
	return true, nil
}

// forwardable refuses what is not http://HOST[:PORT]/PATH.
func forwardable(req *http.Request) (to destination.Target, err error) {
	switch {
	case !req.URL.IsAbs() || req.URL.Host == "":
		return to, errLoop
	case req.URL.Scheme != "http":
		return to, errScheme
	case req.URL.User != nil:
		return to, errUser
	case req.Header.Get("Expect") != "" && !strings.EqualFold(req.Header.Get("Expect"), "100-continue"):
		return to, errExpect
	}
	if to, err = destination.ParseTarget(authority(req.URL)); err != nil {
		return to, errTarget
	}
	return to, nil
}

// authority is HOST:PORT of a URL, whose port may be missing.
func authority(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// trip asks the target.
func (x *session) trip(ctx context.Context, e *exchange, req *http.Request, to destination.Target, body *upload) (*http.Response, *Passage, error) {
	trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
		e.touch()
		if code == http.StatusContinue {
			return nil // which the upload says by itself
		}
		return e.inform(code, http.Header(h))
	}}
	ctx = httptrace.WithClientTrace(ctx, trace)
	out := req.Clone(ctx)
	out.RequestURI, out.Close = "", false
	out.URL = verbatim(req)
	out.Trailer = req.Trailer // filled in once the content has been read
	removeHopByHop(out.Header)
	if out.Header.Get("User-Agent") == "" {
		out.Header["User-Agent"] = []string{""} // else net/http names itself
	}
	out.Body = http.NoBody
	if req.ContentLength != 0 {
		out.Body = body
	}
	return x.route.Ask(ctx, e.grant, to, out)
}

// verbatim is the URL of a request with its path as the client wrote it.
func verbatim(req *http.Request) *url.URL {
	u := *req.URL
	_, rest, _ := strings.Cut(req.RequestURI, "://")
	path, _, _ := strings.Cut(strings.TrimPrefix(rest, u.Host), "?")
	if strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "//") {
		u.Opaque = path
	}
	return &u
}

// hopByHop are the fields that are for us alone (RFC 9110, 7.6.1).
var hopByHop = []string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization",
	"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// removeHopByHop removes them, and the fields that Connection names.
func removeHopByHop(h http.Header) {
	for _, value := range h["Connection"] {
		for name := range strings.SplitSeq(value, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hopByHop {
		h.Del(name)
	}
}

// counted counts what passes to and from a target.
type counted struct {
	net.Conn
	counters *counters
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.counters.received.Add(int64(n))
	return n, err
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.counters.sent.Add(int64(n))
	return n, err
}
