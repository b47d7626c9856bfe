package kube

import (
	"context"

	discovery_v1 "k8s.io/api/discovery/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// fetch lists the slices of Services that were chosen after the first list of slices,
// until ctx ends. The watch tells of what changes, not of what is there.
func (d *Discovery) fetch(ctx context.Context) {
	for {
		service, over := d.fetches.Get()
		if over {
			return
		}
		if all, err := d.client.slicesOf(ctx, service); err != nil {
			d.fetches.AddRateLimited(service)
		} else {
			d.fetches.Forget(service)
			d.tell(d.Fetched(service, all))
		}
		d.fetches.Done(service)
	}
}

// slicesOf lists those of a Service.
func (c *client) slicesOf(ctx context.Context, service types.NamespacedName) ([]*discovery_v1.EndpointSlice, error) {
	list, err := c.slices(service.Namespace, discovery_v1.LabelServiceName+"="+service.Name).list(ctx, meta_v1.ListOptions{})
	if err != nil {
		return nil, err
	}
	items := list.(*discovery_v1.EndpointSliceList).Items
	var all []*discovery_v1.EndpointSlice
	for i := range items {
		all = append(all, &items[i])
	}
	return all, nil
}
