package offer

import (
	"cmp"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	core_v1 "k8s.io/api/core/v1"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/credential"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

func (k keys) own(id string, until time.Time) Credentials {
	username, password := credential.Make(k.leaseKey, k.instance, id, until)
	return Credentials{username, password}
}

// Of returns the Offer of p. Secret is the one that spec.auth names, nil if there is
// none.
func Of(p *egress_v1alpha1.Proxy, secret *core_v1.Secret) *Offer {
	o := &Offer{
		Zone: p.Spec.Zone, Provider: p.Spec.Provider,
		Healthy: lifecycle.Is(p, egress_v1alpha1.Healthy),
	}
	o.Scheme, o.Host, o.Port = reached(p)
	if addr, err := netip.ParseAddr(o.Host); err == nil {
		o.IP = addr.String()
	}
	why := o.read(p, secret)
	o.Why, o.Message = o.judge(p, why)
	o.Lease = o.leased(p)
	return o
}

// reached says how clients connect to p. The host is empty while it is not known.
func reached(p *egress_v1alpha1.Proxy) (scheme egress_v1alpha1.Scheme, host string, port int) {
	e := p.Spec.Endpoint
	if e == nil {
		return egress_v1alpha1.HTTP, p.Status.IP, egress_v1alpha1.DefaultPort
	}
	return cmp.Or(e.Scheme, egress_v1alpha1.HTTP), cmp.Or(e.Host, p.Status.IP), int(cmp.Or(e.Port, egress_v1alpha1.DefaultPort))
}

// Instance tells what is behind p now from what was, or will be: leases and verdicts
// belong to one. With its UID it is unique. An instance that we made is the same one
// until another is created, whatever the spec wants meanwhile.
func Instance(p *egress_v1alpha1.Proxy) string {
	if p.Spec.Mode == egress_v1alpha1.Managed {
		born := ""
		if at := p.Status.InstanceCreatedAt; at != nil {
			born = strconv.FormatInt(at.Unix(), 10)
		}
		return p.Status.ProviderID + " " + p.Status.IP + " " + born
	}
	scheme, host, port := reached(p)
	return p.Status.ProviderID + " " + string(scheme) + "://" + host + " " + strconv.Itoa(port)
}

func (o *Offer) leased(p *egress_v1alpha1.Proxy) lease.Proxy {
	l := lease.Proxy{
		UID: string(p.UID), Namespace: p.Namespace, Name: p.Name,
		Instance:   Instance(p),
		Address:    cmp.Or(p.Status.EgressIP, o.Host),
		Attributes: make(map[string]string, len(p.Spec.Attributes)), LatencyMillis: p.Status.LatencyMillis,
		Healthy: o.Why == Offered,
	}
	for k, v := range p.Spec.Attributes {
		l.Attributes[k] = string(v)
	}
	if c := p.Spec.Capacity; c != nil {
		l.Capacity, l.PerTarget = int(c.MaxLeases), int(c.PerTarget)
	}
	return l
}

// read takes credentials from the Secret, and returns why there are none that can be used.
func (o *Offer) read(p *egress_v1alpha1.Proxy, secret *core_v1.Secret) string {
	if p.Spec.Auth == nil {
		return ""
	}
	name := p.Spec.Auth.SecretRef.Name
	if secret == nil {
		return fmt.Sprintf("spec.auth names Secret %s/%s, which is not there: create it", p.Namespace, name)
	}
	o.keys.fixed = Credentials{line(secret.Data["username"]), line(secret.Data["password"])}
	if key := secret.Data["lease-key"]; len(key) >= credential.MinKey && p.Spec.Mode == egress_v1alpha1.Managed {
		o.keys.leaseKey, o.keys.instance = key, provider.NameFromUID(string(p.UID))
	}
	if o.keys.fixed.Username == "" && o.keys.leaseKey == nil {
		return fmt.Sprintf("Secret %s/%s has neither username and password nor a lease-key of %d bytes", p.Namespace, name, credential.MinKey)
	}
	return ""
}

// line is what a proxy takes from the same file.
func line(text []byte) string {
	return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
}

// judge says whether p is offered.
func (o *Offer) judge(p *egress_v1alpha1.Proxy, credentials string) (Why, string) {
	healthy := lifecycle.Condition(p, egress_v1alpha1.Healthy)
	switch {
	case p.DeletionTimestamp != nil:
		return Deleting, "it is being deleted"
	case !lifecycle.Is(p, egress_v1alpha1.Provisioned) || o.Host == "":
		return NotRunning, "its instance does not run"
	case lifecycle.Is(p, egress_v1alpha1.Draining):
		return Draining, "its instance is about to be replaced: leases that there are go on, new ones are not granted"
	case credentials != "":
		return CredentialsMissing, credentials
	case healthy == nil:
		return NotProbed, "no probe has come to a verdict yet"
	case !o.Healthy:
		return Unhealthy, healthy.Reason + ": " + healthy.Message
	}
	return Offered, "it is offered to whoever leases"
}
