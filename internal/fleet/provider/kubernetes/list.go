package kubernetes

import (
	"context"
	"fmt"

	api_errors "k8s.io/apimachinery/pkg/api/errors"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// pageSize bounds one answer; restarts bounds how often a list begins anew because the
// API server has forgotten the state that it was a list of.
const (
	pageSize = 500
	restarts = 3
)

// Find implements [provider.Provider]. A cluster that is not this provider's has none.
func (p *Provider) Find(ctx context.Context, cluster, uid string) ([]provider.Instance, error) {
	return p.list(ctx, labels.Set{egress_v1alpha1.ClusterLabel: cluster, egress_v1alpha1.UIDLabel: uid})
}

// ListByTag implements [provider.Provider]. Its scopes are the namespaces of Options, if
// there are any.
func (p *Provider) ListByTag(ctx context.Context, cluster string) ([]provider.Instance, error) {
	return p.list(ctx, labels.Set{egress_v1alpha1.ClusterLabel: cluster})
}

func (p *Provider) list(ctx context.Context, tags labels.Set) ([]provider.Instance, error) {
	if len(p.o.Namespaces) == 0 {
		return p.scope(ctx, meta_v1.NamespaceAll, tags)
	}
	var found []provider.Instance
	var unseen provider.PartialError
	for _, namespace := range p.o.Namespaces {
		here, err := p.scope(ctx, namespace, tags)
		if err != nil {
			unseen.Scopes, unseen.Err = append(unseen.Scopes, "namespace "+namespace), err
			continue
		}
		found = append(found, here...)
	}
	if len(unseen.Scopes) > 0 {
		return found, &unseen
	}
	return found, nil
}

// scope lists one namespace, or all at once. It never returns a part of it.
func (p *Provider) scope(ctx context.Context, namespace string, tags labels.Set) ([]provider.Instance, error) {
	selector := tags.AsSelectorPreValidated().String()
	for attempt := 0; ; attempt++ {
		found, err := p.pages(ctx, namespace, selector)
		switch {
		case err == nil:
			return found, nil
		case !api_errors.IsResourceExpired(err) || attempt == restarts:
			return nil, fmt.Errorf("%w: list pods: %w", class(err), err)
		}
	}
}

func (p *Provider) pages(ctx context.Context, namespace, selector string) ([]provider.Instance, error) {
	var found []provider.Instance
	known := make(map[types.UID]bool)
	options := meta_v1.ListOptions{LabelSelector: selector, Limit: pageSize}
	for {
		page, err := p.api.Pods(namespace).List(ctx, options)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			if pod := &page.Items[i]; p.ours(pod) && !known[pod.UID] {
				known[pod.UID] = true
				found = append(found, instance(pod))
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return found, nil
		}
	}
}
