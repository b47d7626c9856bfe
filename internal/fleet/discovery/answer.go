package discovery

import (
	"encoding/json/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/offer"
)

// proxyAnswer is a proxy, as everybody sees it.
type proxyAnswer struct {
	Name          string            `json:"name"`
	Namespace     string            `json:"namespace"`
	URL           string            `json:"url"` // with user and password in an answer to a lease
	Host          string            `json:"host"`
	Port          int               `json:"port"`
	Scheme        string            `json:"scheme"`
	IP            string            `json:"ip"`
	Attributes    map[string]string `json:"attributes"`
	Zone          string            `json:"zone"`
	Provider      string            `json:"provider"`
	LatencyMillis int64             `json:"latencyMillis"`
	Healthy       bool              `json:"healthy"`
	ActiveLeases  int               `json:"activeLeases"`
	// Both are absent where the proxy asks for none, and for everybody without a lease.
	Username string `json:"username,omitempty"`
	Password string `json:"password,omitempty"`
	// TLS is absent where its host and the system's authorities verify it, and without a lease.
	TLS *tlsAnswer `json:"tls,omitempty"`
}

// tlsAnswer is how a proxy of scheme https is verified.
type tlsAnswer struct {
	ServerName         string `json:"serverName,omitempty"`
	CA                 string `json:"ca,omitempty"`
	InsecureSkipVerify bool   `json:"insecureSkipVerify,omitempty"`
}

type proxiesAnswer struct {
	Proxies []proxyAnswer `json:"proxies"`
	Count   int           `json:"count"`
}

type leaseAnswer struct {
	LeaseID    string      `json:"leaseID"`
	Proxy      proxyAnswer `json:"proxy"`
	Target     string      `json:"target"`
	ExpiresAt  string      `json:"expiresAt"`
	TTLSeconds int64       `json:"ttlSeconds"`
	Rebound    bool        `json:"rebound"`
}

type renewAnswer struct {
	LeaseID   string `json:"leaseID"`
	ExpiresAt string `json:"expiresAt"`
	// CoolingUntil is there while the proxy rests for the lease's target, or for all.
	CoolingUntil string `json:"coolingUntil,omitempty"`
	// Proxy is there where its credentials are the lease's own, since those end with it.
	Proxy *proxyAnswer `json:"proxy,omitempty"`
}

type refusalAnswer struct {
	Error   Code   `json:"error"`
	Message string `json:"message"`
	Field   string `json:"field,omitempty"`
}

type noMatchAnswer struct {
	Error      Code   `json:"error"`
	Message    string `json:"message"`
	Considered int    `json:"considered"`
	AtCapacity int    `json:"atCapacity"`
	InCooldown int    `json:"inCooldown"`
	Unhealthy  int    `json:"unhealthy"`
}

// proxyOf describes a proxy without its credentials.
func proxyOf(o *offer.Offer, active int) proxyAnswer {
	p := proxyAnswer{
		Name: o.Lease.Name, Namespace: o.Lease.Namespace, Host: o.Host, Port: o.Port, Scheme: string(o.Scheme), IP: o.IP,
		Attributes: o.Lease.Attributes, Zone: o.Zone, Provider: o.Provider, LatencyMillis: o.Lease.LatencyMillis,
		Healthy: o.Lease.Healthy, ActiveLeases: active,
	}
	if o.Host != "" {
		p.URL = p.Scheme + "://" + p.authority()
	}
	return p
}

// authority is an address or the name of a host, which an API server has validated.
func (p *proxyAnswer) authority() string { return net.JoinHostPort(p.Host, strconv.Itoa(p.Port)) }

// leasedProxy describes a proxy to whom a lease on it was granted.
func leasedProxy(o *offer.Offer, l *lease.Lease, active int) proxyAnswer {
	p := proxyOf(o, active)
	if t := o.TLS; t != nil {
		p.TLS = &tlsAnswer{t.ServerName, string(t.CA), t.InsecureSkipVerify}
	}
	if c := o.ForLease(l.ID, l.ExpiresAt); c != (offer.Credentials{}) {
		p.Username, p.Password = c.Username, c.Password
		p.URL = p.Scheme + "://" + url.UserPassword(c.Username, c.Password).String() + "@" + p.authority()
	}
	return p
}

// timestamp is RFC 3339 in UTC, to the millisecond that has begun.
func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Values of headers, which are shared and not changed.
var (
	jsonType = []string{"application/json"}
	textType = []string{"text/plain; charset=utf-8"}
	noStore  = []string{"no-store"}
	noSniff  = []string{"nosniff"}
)

// answer writes JSON.
func (c *call) answer(status int, body any) error {
	b := buffer()
	defer keep(b)
	if err := json.MarshalWrite(b, body, json.Deterministic(true)); err != nil {
		return err
	}
	b.WriteByte('\n')
	c.write(status, jsonType, b.Bytes())
	return nil
}

func (c *call) write(status int, kind []string, body []byte) {
	h := c.w.Header()
	h["Cache-Control"], h["X-Content-Type-Options"] = noStore, noSniff
	if kind != nil {
		h["Content-Type"] = kind
	}
	c.status = status
	c.w.WriteHeader(status)
	_, _ = c.w.Write(body) // when the client has gone, nobody is left to tell
}

// nothing answers that all went well.
func (c *call) nothing() error {
	c.write(http.StatusNoContent, nil, nil)
	return nil
}

// refuse answers what went wrong.
func (c *call) refuse(err error) {
	r := refusalOf(err)
	c.code = r.code
	if r.retry > 0 {
		c.w.Header().Set("Retry-After", seconds(r.retry))
	}
	var body any = refusalAnswer{r.code, r.message, r.field}
	if n := r.counts; n != nil {
		body = noMatchAnswer{r.code, r.message, n.Considered, n.AtCapacity, n.InCooldown, n.Unhealthy}
	}
	if c.answer(r.code.Status(), body) != nil { // text of ours that is no UTF-8
		_ = c.answer(r.code.Status(), refusalAnswer{Error: r.code, Message: "the request is not right"})
	}
}
