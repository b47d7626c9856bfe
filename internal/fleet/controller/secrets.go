package controller

import (
	"context"
	"fmt"

	core_v1 "k8s.io/api/core/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	util_runtime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	util_runtime.Must(core_v1.AddToScheme(s))
	util_runtime.Must(egress_v1alpha1.AddToScheme(s))
	return s
}

// secretMetadata is a Secret as it is watched: without its data.
func secretMetadata() *meta_v1.PartialObjectMetadata {
	m := new(meta_v1.PartialObjectMetadata)
	m.SetGroupVersionKind(core_v1.SchemeGroupVersion.WithKind("Secret"))
	return m
}

// uncached are kinds that are never read from a cache, so that none is made for them.
var uncached = []client.Object{&core_v1.Secret{}}

// byObject says what of objects is kept.
var byObject = map[client.Object]cache.ByObject{
	secretMetadata():         {Transform: nameAndVersion},
	&egress_v1alpha1.Proxy{}: {Transform: cache.TransformStripManagedFields()},
}

// nameAndVersion is all that an event needs. Annotations may repeat a Secret's data.
func nameAndVersion(object any) (any, error) {
	m, ok := object.(*meta_v1.PartialObjectMetadata)
	if !ok {
		return object, nil
	}
	m.ObjectMeta = meta_v1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion}
	return m, nil
}

// bySecret is the index of Proxies by the names of their Secrets.
const bySecret = "secret"

func (c *Controller) index(ctx context.Context) error {
	err := c.cluster.GetFieldIndexer().IndexField(ctx, &egress_v1alpha1.Proxy{}, bySecret, func(o client.Object) []string {
		return lifecycle.SecretNames(o.(*egress_v1alpha1.Proxy))
	})
	if err != nil {
		return fmt.Errorf("index Proxies by Secret: %w", err)
	}
	return nil
}

// proxiesForSecret returns the Proxies that name a Secret.
func (c *Controller) proxiesForSecret(ctx context.Context, s *meta_v1.PartialObjectMetadata) []reconcile.Request {
	var list egress_v1alpha1.ProxyList
	err := c.cluster.GetCache().List(ctx, &list, client.InNamespace(s.Namespace), client.MatchingFields{bySecret: s.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		c.o.Log.Error("a change of a Secret is not followed", observe.KeyObject, s.Namespace+"/"+s.Name, observe.KeyError, err)
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return out
}
