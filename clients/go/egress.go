// Package egress leases proxies of a Gatehouse fleet. It turns a selector and a target
// into a [Lease], the right to use one healthy proxy until a time, and tells the fleet what
// became of its use.
//
//	client := &egress.Client{BaseURL: "http://127.0.0.1:8090", Token: os.Getenv("DISCOVERY_TOKEN")}
//	lease, err := client.Acquire(ctx, egress.Request{Target: "shop.example"})
//	…
//	defer lease.Release(context.WithoutCancel(ctx))
//	response, err := (&http.Client{Transport: lease.Transport()}).Do(request)
//	if response.StatusCode == http.StatusForbidden {
//		err = lease.Report(ctx, egress.Banned, "")
//	}
//
// Every method that takes a context asks the fleet and blocks until it has answered; each
// attempt has a deadline. What went wrong is an [*Error]. The package starts no goroutine,
// has no dependencies, and never writes a token or a password into an error.
package egress

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Version is of the lease API that this package speaks, and of Gatehouse.
const Version = "0.1.0"

// DefaultTTL is the life of a lease whose request says nothing of it.
const DefaultTTL = 300 * time.Second

// DefaultTimeout bounds one attempt of a call.
const DefaultTimeout = 10 * time.Second

// Client asks one fleet. Its methods may be called at once; its fields must not change
// after the first call.
type Client struct {
	// BaseURL is where the lease API is, for example http://127.0.0.1:8090.
	BaseURL string
	// Token is the one that the fleet has in DISCOVERY_TOKEN; empty where it has none.
	Token string
	// HTTPClient sends the calls; by default one that goes through no proxy, whatever the
	// environment says.
	HTTPClient *http.Client
	// Timeout bounds one attempt of a call, besides what the fleet was asked to wait; 0 is
	// DefaultTimeout.
	Timeout time.Duration
	// Attempts bounds how often a call is tried that can safely be repeated, when the fleet
	// cannot be reached or says that it cannot answer now; 0 is 4, and 1 is no repetition.
	Attempts int
}

// Request says what is to be leased. The zero Request is any healthy proxy, for any target.
type Request struct {
	// Selector are attributes that the proxy must have.
	Selector map[string]string
	// Namespace is the one whose proxies count; empty for all.
	Namespace string
	// Target is the host name that the lease is for, 1 to 253 bytes; reports count for it.
	Target string
	// TTL is the life of the lease in whole seconds, from a second to an hour; 0 is
	// DefaultTTL.
	TTL time.Duration
	// Session asks for the proxy that the session had, for as long as that one is fit;
	// 1 to 128 printable bytes.
	Session string
	// Exclude are proxies that will not do, each "namespace/name".
	Exclude []string
	// Wait is how long to wait when no proxy can be leased now. The fleet lets nobody wait
	// for more than 30 s; for longer ones the client asks again.
	Wait time.Duration
	// IdempotencyKey makes two Acquires that say the same one lease; by default each has a
	// key of its own, so that an answer that is lost on its way loses no lease.
	IdempotencyKey string
}

// Proxy is a proxy of the fleet.
type Proxy struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	// URL is what clients are configured with. That of a lease has the credentials.
	URL  string `json:"url"`
	Host string `json:"host"`
	Port int    `json:"port"`
	// Scheme is http, https or socks5.
	Scheme     string            `json:"scheme"`
	IP         string            `json:"ip"`
	Attributes map[string]string `json:"attributes"`
	Zone       string            `json:"zone"`
	Provider   string            `json:"provider"`
	// LatencyMillis is what the last probe that was told took.
	LatencyMillis int64 `json:"latencyMillis"`
	Healthy       bool  `json:"healthy"`
	ActiveLeases  int   `json:"activeLeases"`
	// Username and Password are told with a lease only, and empty where the proxy asks for
	// none.
	Username string `json:"username"`
	Password string `json:"password"`
	// TLS is told with a lease only, and nil where the host and the system's authorities
	// verify a proxy of scheme https.
	TLS *ProxyTLS `json:"tls"`
}

// ProxyTLS is how a proxy of scheme https is verified.
type ProxyTLS struct {
	// ServerName is what its certificate is for; empty for the host.
	ServerName string `json:"serverName"`
	// CA is the authorities' certificates in PEM; empty for the system's.
	CA                 string `json:"ca"`
	InsecureSkipVerify bool   `json:"insecureSkipVerify"`
}

// ID is how Request.Exclude names it.
func (p Proxy) ID() string { return p.Namespace + "/" + p.Name }

// String hides the credentials.
func (p Proxy) String() string { return p.ID() }

// maxWait is how long the fleet lets a request wait.
const maxWait = 30 * time.Second

// Acquire leases the fittest proxy. [ErrNoMatch] tells that there is none now.
func (c *Client) Acquire(ctx context.Context, r Request) (*Lease, error) {
	if r.IdempotencyKey == "" {
		r.IdempotencyKey = rand.Text()
	}
	until := time.Now().Add(r.Wait)
	for {
		wait := max(0, min(time.Until(until), maxWait))
		l, err := c.acquire(ctx, r, wait)
		if err == nil || !errors.Is(err, ErrNoMatch) || wait < maxWait || ctx.Err() != nil {
			return l, err
		}
	}
}

func (c *Client) acquire(ctx context.Context, r Request, wait time.Duration) (*Lease, error) {
	call := call{
		method: http.MethodPost, path: "/v1/leases", body: r.body(), key: r.IdempotencyKey,
		wait: wait,
	}
	if wait > 0 {
		call.query = url.Values{"wait": {wait.Round(time.Millisecond).String()}}
	}
	var answer granted
	sent, err := c.do(ctx, call, &answer)
	if err != nil {
		return nil, err
	}
	return newLease(c, answer, sent)
}

// leaseBody is what is posted for a lease.
type leaseBody struct {
	Selector   map[string]string `json:"selector,omitempty"`
	TTLSeconds int64             `json:"ttlSeconds,omitempty"`
	Target     string            `json:"target,omitempty"`
	Namespace  string            `json:"namespace,omitempty"`
	Session    string            `json:"session,omitempty"`
	Exclude    []string          `json:"exclude,omitempty"`
}

func (r Request) body() leaseBody {
	return leaseBody{r.Selector, seconds(r.TTL), r.Target, r.Namespace, r.Session, r.Exclude}
}

// seconds rounds up, so that a lease never ends before its holder expects.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// Filter says which proxies are listed; the zero Filter is all.
type Filter struct {
	Attributes map[string]string
	Namespace  string
	// Healthy, when not nil, is what the verdict of probes must be.
	Healthy *bool
}

// List returns proxies, in order of namespace and name. It leases nothing.
func (c *Client) List(ctx context.Context, f Filter) ([]Proxy, error) {
	query := url.Values{}
	for k, v := range f.Attributes {
		query.Set("attr."+k, v)
	}
	if f.Namespace != "" {
		query.Set("namespace", f.Namespace)
	}
	if f.Healthy != nil {
		query.Set("healthy", strconv.FormatBool(*f.Healthy))
	}
	var answer struct {
		Proxies []Proxy `json:"proxies"`
	}
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/proxies", query: query}, &answer)
	return answer.Proxies, err
}
