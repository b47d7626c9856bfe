package forward

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/access"
)

const proxyStatusField = "Proxy-Status"

// answer tells the client why it does not get what it asks for. Req is nil for a
// request that could not be read.
func (x *session) answer(req *http.Request, why error, keep bool) error {
	r := refuse(why)
	x.counters.refused(r)
	body := r.Text + "\n"
	resp := &http.Response{
		StatusCode: r.Status, ProtoMajor: 1, ProtoMinor: 1, Request: req, Close: !keep,
		Header: http.Header{}, ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body)),
	}
	status := x.Name + "; error=" + r.Kind + "; details=" + quoted(r.Text)
	if way, ok := errors.AsType[*RouteError](why); ok {
		maps.Copy(resp.Header, way.Header)
		if way.NextHop != "" {
			status = x.Name + "; next-hop=" + quoted(way.NextHop) + strings.TrimPrefix(status, x.Name)
		}
	}
	resp.Header["Content-Type"] = []string{"text/plain; charset=utf-8"}
	resp.Header.Add(proxyStatusField, status)
	switch r.Status {
	case http.StatusProxyAuthRequired:
		resp.Header.Set("Proxy-Authenticate", `Basic realm="gatehouse", charset="UTF-8"`)
	case http.StatusTooManyRequests:
		resp.Header.Set("Retry-After", strconv.Itoa(int(access.RetryAfter/time.Second)))
	}
	_ = x.conn.SetWriteDeadline(time.Now().Add(x.Limits.Startup))
	return writeResponse(x.conn, resp)
}

// quoted is a string of RFC 8941; the text is ASCII.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}
