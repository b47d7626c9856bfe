package roster

import (
	"context"
	"errors"

	core_v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/health"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/offer"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// proxyChanged looks at a Proxy and passes on what it is now.
func (r *Roster) proxyChanged(ctx context.Context, key types.NamespacedName) (done bool) {
	p, err := bounded(ctx, func(ctx context.Context) (*egress_v1alpha1.Proxy, error) { return r.Objects.Proxy(ctx, key) })
	if errors.Is(err, reconcile.ErrNoObject) {
		r.unuse(key, nil)
		r.forget(ctx, key)
		return true
	}
	if err != nil {
		r.Log.Warn("a Proxy cannot be read; tried again", observe.KeyObject, key.String(), observe.KeyError, err)
		return false
	}
	if old := r.entry(key); old != nil && old.offer.Lease.UID != string(p.UID) {
		r.forget(ctx, key) // another one has the name now
	}
	named, known := r.secretsOf(ctx, p)
	if !known && r.entry(key) == nil { // the Secret, once read, has it looked at again
		r.exists(p)
		return true
	}
	e := &entry{key: key, offer: offer.Of(p, named.auth)}
	var ca []byte
	if named.ca != nil {
		ca = named.ca.Data[core_v1.ServiceAccountRootCAKey]
	}
	if t := p.Spec.TLS; t != nil {
		e.offer.TLS = &offer.TLS{ServerName: t.ServerName, CA: ca, InsecureSkipVerify: t.InsecureSkipVerify}
	}
	e.probe, e.probed = health.FromProxy(p, e.offer, ca, r.CheckURL)
	r.put(e)
	r.tell(ctx, string(p.UID))
	return true
}

func (r *Roster) entry(key types.NamespacedName) *entry {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.entries[key]
}

// put makes an entry the one that counts, for requests and for probes.
func (r *Roster) put(e *entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old := r.entries[e.key]; old != nil {
		e.drained = old.drained
	}
	delete(r.unread, e.key)
	r.entries[e.key], r.byUID[e.offer.Lease.UID] = e, e
	r.book.put(e)
	if r.term != nil {
		r.term.probe(e, r.Now())
	}
}

// exists notes a Proxy that nothing is known of yet, so that its leases stay.
func (r *Roster) exists(p *proxy) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.entries[keyOf(p)] == nil {
		r.unread[keyOf(p)] = string(p.UID)
	}
}

// there are the UIDs of all Proxies that there are.
func (r *Roster) there() map[string]bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	all := make(map[string]bool, len(r.byUID)+len(r.unread))
	for uid := range r.byUID {
		all[uid] = true
	}
	for _, uid := range r.unread {
		all[uid] = true
	}
	return all
}

// forget drops the entry of a name, and has its leases ended.
func (r *Roster) forget(ctx context.Context, key types.NamespacedName) {
	r.mu.Lock()
	delete(r.unread, key)
	e := r.entries[key]
	if e == nil {
		r.mu.Unlock()
		return
	}
	delete(r.entries, key)
	delete(r.byUID, e.offer.Lease.UID)
	r.book.remove(key)
	if r.term != nil {
		r.term.engine.Remove(key.String())
	}
	r.mu.Unlock()
	r.tell(ctx, e.offer.Lease.UID)
}
