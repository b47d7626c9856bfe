package health

import (
	"cmp"
	"net/netip"
	"time"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/offer"
)

// What a Proxy is probed with whose spec says nothing else.
const (
	DefaultInterval         = 30 * time.Second
	DefaultTimeout          = 5 * time.Second
	DefaultSuccessThreshold = 2
	DefaultFailureThreshold = 3
)

// FromProxy returns what of p is to be probed; false if there is nothing now: it has no
// instance that runs, no address, no credentials that it needs, or is being deleted.
// What is known of such a one stays.
//
// Offer is that of p, caPEM the ca.crt of the Secret that spec.tls.caSecretRef names, nil
// if there is none, and defaultURL is asked where spec.healthCheck.url is not given.
func FromProxy(p *egress_v1alpha1.Proxy, o *offer.Offer, caPEM []byte, defaultURL string) (Proxy, bool) {
	if o.Why == offer.Deleting || o.Why == offer.NotRunning || o.Why == offer.CredentialsMissing {
		return Proxy{}, false
	}
	out := Proxy{
		Key: p.Namespace + "/" + p.Name, UID: string(p.UID), Instance: offer.Instance(p),
		Scheme: string(o.Scheme), Host: o.Host, Port: o.Port, Login: login(o),
		Check: checkOf(p.Spec.HealthCheck, defaultURL), Known: known(p),
	}
	if t := p.Spec.TLS; t != nil {
		out.TLS = TLS{ServerName: t.ServerName, InsecureSkipVerify: t.InsecureSkipVerify}
		if t.CASecretRef != nil {
			out.TLS.CA = append([]byte{}, caPEM...) // not nil: the system's are not asked for
		}
	}
	if out.Check.VerifyEgress {
		out.Egress = egress(p)
	}
	return out, true
}

// login returns what makes credentials, nil where the proxy asks for none. They are those
// that a lease would get: what clients cannot use is not well.
func login(o *offer.Offer) func(time.Time) offer.Credentials {
	if o.ForLease("probe", time.Time{}) == (offer.Credentials{}) {
		return nil
	}
	return func(until time.Time) offer.Credentials { return o.ForLease("probe", until) }
}

func checkOf(h *egress_v1alpha1.HealthCheck, defaultURL string) Check {
	if h == nil {
		h = &egress_v1alpha1.HealthCheck{}
	}
	interval := span(h.Interval, DefaultInterval)
	c := Check{
		URL: cmp.Or(h.URL, defaultURL), Interval: interval, Timeout: span(h.Timeout, min(DefaultTimeout, interval/2)),
		SuccessThreshold: int(cmp.Or(h.SuccessThreshold, DefaultSuccessThreshold)),
		FailureThreshold: int(cmp.Or(h.FailureThreshold, DefaultFailureThreshold)),
		VerifyEgress:     h.VerifyEgressIP && h.URL != "",
	}
	for _, code := range h.ExpectedStatus {
		c.ExpectedStatus = append(c.ExpectedStatus, int(code))
	}
	return c
}

func span(d *meta_v1.Duration, other time.Duration) time.Duration {
	if d == nil || d.Duration <= 0 {
		return other
	}
	return d.Duration
}

// egress returns where the connections of p must come from: its own address, if it is an
// instance of ours with an address in the Internet; else the one that the first good
// probe saw, the zero address before it.
func egress(p *egress_v1alpha1.Proxy) netip.Addr {
	address := p.Status.EgressIP
	if n := p.Spec.Network; p.Spec.Mode == egress_v1alpha1.Managed && (n == nil || n.ExternalIP == nil || *n.ExternalIP) {
		address = p.Status.IP
	}
	seen, _ := netip.ParseAddr(address) // else it is not known
	return seen.Unmap()
}

// known is the verdict that the status has.
func known(p *egress_v1alpha1.Proxy) *Known {
	c := lifecycle.Condition(p, egress_v1alpha1.Healthy)
	if c == nil || c.Status == meta_v1.ConditionUnknown {
		return nil
	}
	k := &Known{Healthy: c.Status == meta_v1.ConditionTrue, Latency: time.Duration(p.Status.LatencyMillis) * time.Millisecond}
	if at := p.Status.LastHealthCheckTime; at != nil {
		k.At = at.Time
	}
	k.Egress, _ = netip.ParseAddr(p.Status.EgressIP)
	return k
}
