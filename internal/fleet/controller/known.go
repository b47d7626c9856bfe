package controller

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/explain"
)

// outcome is what the last pass of a Proxy led to.
type outcome struct {
	next     time.Time // zero: when something changes
	failures int
	err      string
}

// outcomes are those of this process; it knows none while another one leads.
type outcomes struct {
	mu  sync.Mutex
	all map[types.NamespacedName]outcome
}

func (o *outcomes) note(key types.NamespacedName, after time.Duration, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = make(map[types.NamespacedName]outcome)
	}
	var now outcome
	switch {
	case err != nil:
		now = outcome{failures: o.all[key].failures + 1, err: explain.FirstLine(err)}
	case after > 0:
		now.next = time.Now().Add(after)
	}
	o.all[key] = now
}

func (o *outcomes) of(key types.NamespacedName) outcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all[key]
}

// keep forgets what is not in the list.
func (o *outcomes) keep(proxies []*egress_v1alpha1.Proxy) {
	there := make(map[types.NamespacedName]bool, len(proxies))
	for _, p := range proxies {
		there[keyOf(p)] = true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for key := range o.all {
		if !there[key] {
			delete(o.all, key)
		}
	}
}

func (o *outcomes) clear() {
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.all)
}

func keyOf(p *egress_v1alpha1.Proxy) types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
}

// Ready implements [explain.Shell]: also a process that does not lead is.
func (c *Controller) Ready() error {
	if !c.synced.Load() {
		return errors.New("the Proxies of the cluster have not been read yet")
	}
	return nil
}

// Fleet implements [explain.Shell].
func (c *Controller) Fleet(ctx context.Context) (explain.Fleet, error) {
	if err := c.Ready(); err != nil {
		return explain.Fleet{}, err
	}
	proxies, err := c.objects.Proxies(ctx)
	if err != nil {
		return explain.Fleet{}, err
	}
	c.outcomes.keep(proxies)
	out := explain.Fleet{Source: c.source()}
	for _, p := range proxies {
		o := c.outcomes.of(keyOf(p))
		out.Proxies = append(out.Proxies, explain.Known{
			Namespace: p.Namespace, Name: p.Name, Proxy: p, Next: o.next, Failures: o.failures, Error: o.err,
			ProviderOn: p.Spec.Mode == egress_v1alpha1.External || slices.Contains(c.o.Providers, p.Spec.Provider),
		})
	}
	slices.SortFunc(out.Proxies, func(a, b explain.Known) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

// source is where Proxies come from, for people.
func (c *Controller) source() string {
	where := "cluster " + c.o.Config.Host
	if len(c.o.Namespaces) > 0 {
		where += ", namespace " + strings.Join(c.o.Namespaces, ", ")
	}
	if c.lease.check() != nil {
		where += " (another process leads)"
	}
	return where
}
