package forward

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/access"
)

// answer tells the client why it does not get what it asks for. Req is nil for a
// request that could not be read.
func (x *session) answer(req *http.Request, r *refusalError, keep bool) error {
	x.counters.refused(r)
	body := r.text + "\n"
	resp := &http.Response{
		StatusCode: r.status, ProtoMajor: 1, ProtoMinor: 1, Request: req, Close: !keep,
		Header:        http.Header{"Content-Type": {"text/plain; charset=utf-8"}, "Proxy-Status": {proxyStatus(x.Name, r)}},
		ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body)),
	}
	switch r.status {
	case http.StatusProxyAuthRequired:
		resp.Header.Set("Proxy-Authenticate", `Basic realm="gatehouse", charset="UTF-8"`)
	case http.StatusTooManyRequests:
		resp.Header.Set("Retry-After", strconv.Itoa(int(access.RetryAfter/time.Second)))
	}
	_ = x.conn.SetWriteDeadline(time.Now().Add(x.Limits.Startup))
	return writeResponse(x.conn, resp)
}

// proxyStatus is the value of Proxy-Status (RFC 9209). Details are ASCII.
func proxyStatus(name string, r *refusalError) string {
	details := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(r.text)
	return name + "; error=" + r.kind + `; details="` + details + `"`
}
