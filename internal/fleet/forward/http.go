package forward

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/access"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/destination"
)

// serveHTTP serves one client of HTTP, request after request.
func (x *session) serveHTTP(ctx context.Context) error {
	for {
		again, err := x.serveRequest(ctx)
		if err != nil || !again {
			return err
		}
		if err := x.await(x.Limits.Idle); err != nil {
			return err
		}
	}
}

// serveRequest reports whether another request may follow.
func (x *session) serveRequest(ctx context.Context) (again bool, err error) {
	_ = x.conn.SetReadDeadline(time.Now().Add(x.Limits.Startup))
	req, err := readRequest(x.in)
	if r, ok := errors.AsType[*RefusalError](err); ok {
		return false, x.leave(x.answer(nil, r, false))
	}
	if err != nil {
		return false, err
	}
	given, err := givenBy(req.Header)
	if err != nil {
		return x.refuseHTTP(req, err)
	}
	grant, err := x.decide(given)
	if err != nil {
		return x.refuseHTTP(req, err)
	}
	if req.Method == http.MethodConnect {
		return x.connect(ctx, req, grant)
	}
	return x.forward(ctx, req, grant)
}

// givenBy returns what Proxy-Authorization shows; nil without.
func givenBy(h http.Header) (*access.Given, error) {
	values := h.Values("Proxy-Authorization")
	if len(values) == 0 {
		return nil, nil //nolint:nilnil // nothing was shown
	}
	scheme, text, _ := strings.Cut(values[0], " ")
	decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	username, password, found := strings.Cut(string(decoded), ":")
	if len(values) > 1 || !strings.EqualFold(scheme, "basic") || err != nil || !found {
		return nil, access.ErrNeeded
	}
	return &access.Given{Username: username, Password: password}, nil
}

// refuseHTTP answers a request that comes to nothing. The connection goes on where the
// request has an end that is near: clients show their password on the same one.
func (x *session) refuseHTTP(req *http.Request, why error) (again bool, err error) {
	keep := x.keeps(req) && req.ContentLength >= 0 && req.ContentLength <= skipBytes && req.Header.Get("Expect") == ""
	if err := x.answer(req, why, keep); err != nil {
		return false, err
	}
	if !keep {
		return false, x.leave(nil)
	}
	_ = x.conn.SetReadDeadline(time.Now().Add(x.Limits.Startup))
	_, err = io.Copy(io.Discard, req.Body)
	return err == nil, err
}

// skipBytes is how much of a refused request is read to keep the connection.
const skipBytes = 64 << 10

// keeps says whether the client wants the connection to go on, and so do we.
func (x *session) keeps(req *http.Request) bool {
	return !req.Close && req.ProtoAtLeast(1, 1) && x.draining.Err() == nil &&
		!strings.EqualFold(req.Header.Get("Proxy-Connection"), "close")
}

// connect serves a CONNECT.
func (x *session) connect(ctx context.Context, req *http.Request, grant access.Grant) (again bool, err error) {
	x.counters.requests[overCONNECT].Add(1)
	to, err := destination.ParseTarget(req.RequestURI)
	switch {
	case err != nil:
		return x.refuseHTTP(req, errTarget)
	case req.ContentLength != 0:
		return x.refuseHTTP(req, errContent)
	}
	dialling, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer x.leases.hold(grant, cancel)()
	p, err := x.open(dialling, grant, to)
	if err != nil {
		return x.refuseHTTP(req, err)
	}
	_ = x.conn.SetWriteDeadline(time.Now().Add(x.Limits.Startup))
	if err := x.established(p.Told); err != nil {
		p.drop()
		return false, err
	}
	return false, x.tunnel(ctx, grant, protocols[overCONNECT], to, p)
}

// established answers a CONNECT.
func (x *session) established(t Told) error {
	const line, end = "HTTP/1.1 200 Connection established\r\n", "\r\n"
	out := &appender{[]byte(line)}
	h := make(http.Header)
	x.tell(h, t)
	if err := h.Write(out); err != nil {
		return err
	}
	_, err := x.conn.Write(append(out.b, end...))
	return err
}
