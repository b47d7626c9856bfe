package kube

import (
	"context"
	"fmt"

	core_v1 "k8s.io/api/core/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery/kube/index"
)

// Snapshot is what a cluster says at one moment; nothing is watched. Make it with Look.
type Snapshot struct {
	*index.Index
	client *client
}

// Look lists the Services that labels choose. The slices behind one are listed when
// Describe asks for them.
func Look(ctx context.Context, o Options) (*Snapshot, error) {
	c, err := newClient(o.Config)
	if err != nil {
		return nil, err
	}
	if len(o.Namespaces) == 0 {
		o.Namespaces = []string{""}
	}
	s := &Snapshot{Index: index.New(o.Options), client: c}
	for _, namespace := range o.Namespaces {
		list, err := c.services(namespace, index.Selector).list(ctx, meta_v1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("the %s cannot be listed: %w", inNamespace("Services", namespace), cause(err))
		}
		all := list.(*core_v1.ServiceList).Items
		for i := range all {
			s.SetService(&all[i])
		}
	}
	s.Synced()
	return s, nil
}

// Describe returns what is known of a form of a deployment, its endpoints included; false
// if no Service claims it.
func (s *Snapshot) Describe(ctx context.Context, deployment string, pooled bool) (index.Description, bool, error) {
	for _, service := range s.Claimants(deployment, pooled) {
		all, err := s.client.slicesOf(ctx, service)
		if err != nil {
			return index.Description{}, false, fmt.Errorf("the EndpointSlices of Service %s cannot be listed: %w", service, cause(err))
		}
		s.Fetched(service, all)
	}
	d, ok := s.Index.Describe(deployment, pooled)
	return d, ok, nil
}
