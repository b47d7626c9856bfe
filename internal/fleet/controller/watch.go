package controller

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	tools_cache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
)

// watch has the Watch of the options called for as long as there is a cache. Secrets are
// watched by their metadata, as for the leader.
func (c *Controller) watch(ctx context.Context) error {
	for _, w := range []struct {
		object client.Object
		tell   func(types.NamespacedName)
	}{{new(egress_v1alpha1.Proxy), c.o.Watch.Proxy}, {secretMetadata(), c.o.Watch.Secret}} {
		if w.tell == nil {
			continue
		}
		informer, err := c.cluster.GetCache().GetInformer(ctx, w.object, cache.BlockUntilSynced(false))
		if err == nil {
			_, err = informer.AddEventHandler(told(w.tell))
		}
		if err != nil {
			return fmt.Errorf("watch the Kubernetes API: %w", err)
		}
	}
	return nil
}

// told calls tell with the name of each object that changes. What is read anew, and the
// same, is no change.
func told(tell func(types.NamespacedName)) tools_cache.ResourceEventHandler {
	name := func(object any) {
		if gone, ok := object.(tools_cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if o, ok := object.(client.Object); ok {
			tell(client.ObjectKeyFromObject(o))
		}
	}
	return tools_cache.ResourceEventHandlerFuncs{
		AddFunc: name,
		UpdateFunc: func(old, now any) {
			a, aOK := old.(client.Object)
			b, bOK := now.(client.Object)
			if !aOK || !bOK || a.GetResourceVersion() != b.GetResourceVersion() || a.GetUID() != b.GetUID() {
				name(now)
			}
		},
		DeleteFunc: name,
	}
}
