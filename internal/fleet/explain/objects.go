package explain

import (
	"cmp"
	"context"
	"slices"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
)

// Objects is a Shell of Proxies that nothing is known of beside the objects: those of
// an API server.
type Objects struct {
	// Proxies returns all, in any order.
	Proxies func(context.Context) ([]*egress_v1alpha1.Proxy, error)
	// Providers are the names of those that are on.
	Providers []string
	Source    string
	// IsReady is nil for always.
	IsReady func() error
}

var _ Shell = Objects{}

// Fleet implements [Shell].
func (o Objects) Fleet(ctx context.Context) (Fleet, error) {
	all, err := o.Proxies(ctx)
	if err != nil {
		return Fleet{}, err
	}
	out := Fleet{Source: o.Source}
	for _, p := range all {
		out.Proxies = append(out.Proxies, Known{
			Namespace: p.Namespace, Name: p.Name, Proxy: p,
			ProviderOn: p.Spec.Mode == egress_v1alpha1.External || slices.Contains(o.Providers, p.Spec.Provider),
		})
	}
	slices.SortFunc(out.Proxies, func(a, b Known) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

// Ready implements [Shell].
func (o Objects) Ready() error {
	if o.IsReady == nil {
		return nil
	}
	return o.IsReady()
}
