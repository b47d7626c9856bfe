package app

import (
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	neturl "net/url"
	"strconv"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/discovery"
)

// passedHeader is on requests that another replica has passed on: those go no further.
const passedHeader = "Gatehouse-Passed-On"

// elsewhere passes requests on to the process that leads, where leases are in its memory:
// a Service may send them to any replica. Nil where no other process leads.
func (f *fleet) elsewhere() func(*http.Request) http.Handler {
	if f.shared != nil || f.leader == nil {
		return nil
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&neturl.URL{Scheme: "http", Host: f.leader()})
			r.Out.Host = r.In.Host
			r.Out.Header.Set(passedHeader, "1")
		},
		Transport:    &http.Transport{DialContext: (&net.Dialer{Timeout: time.Second}).DialContext, MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute},
		ErrorHandler: notReached,
	}
	return func(r *http.Request) http.Handler {
		if r.Header.Get(passedHeader) != "" || r.URL.Path == "/healthz" || f.leads() == nil || f.leader() == "" {
			return nil
		}
		return proxy
	}
}

// notReached answers while nobody leads, or who did does not answer any more.
func notReached(w http.ResponseWriter, _ *http.Request, _ error) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(discovery.IsNotLeading.Status())
	_, _ = io.WriteString(w, `{"error":"not_leading","message":"the replica that leads cannot be reached: ask again after the seconds of Retry-After"}`+"\n")
}

// advertised is where other replicas reach the lease API of this one, if it listens where
// they can.
func (f *fleet) advertised() string {
	if f.leaseListener == nil {
		return ""
	}
	at, err := netip.ParseAddrPort(f.leaseListener.Addr().String())
	if err != nil {
		return ""
	}
	if pod, err := netip.ParseAddr(f.config.Kubernetes.PodIP); err == nil && at.Addr().IsUnspecified() {
		return net.JoinHostPort(pod.String(), strconv.Itoa(int(at.Port())))
	}
	if at.Addr().IsUnspecified() {
		return ""
	}
	return at.String()
}
