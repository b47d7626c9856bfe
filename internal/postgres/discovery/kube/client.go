package kube

import (
	"context"
	"time"

	core_v1 "k8s.io/api/core/v1"
	discovery_v1 "k8s.io/api/discovery/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// client knows the two groups that are read; a client of all groups would be most of the
// binary.
type client struct {
	core, discovery rest.Interface
}

// callTimeout bounds each request but watches, which the server ends.
const callTimeout = 30 * time.Second

func newClient(config *rest.Config) (*client, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{core_v1.AddToScheme, discovery_v1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	meta_v1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	codecs := serializer.NewCodecFactory(scheme).WithoutConversion()
	http, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	group := func(path string, version schema.GroupVersion) (rest.Interface, error) {
		config := rest.CopyConfig(config)
		config.APIPath, config.GroupVersion, config.NegotiatedSerializer = path, &version, codecs
		return rest.RESTClientForConfigAndClient(config, http)
	}
	core, err := group("/api", core_v1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	discovery, err := group("/apis", discovery_v1.SchemeGroupVersion)
	return &client{core, discovery}, err
}

// resource is a kind of objects in a namespace, all namespaces if it is empty, that a
// selector chooses.
type resource struct {
	client                        rest.Interface
	plural, namespace, labelMatch string
}

func (c *client) services(namespace, selector string) resource {
	return resource{c.core, "services", namespace, selector}
}

func (c *client) slices(namespace, selector string) resource {
	return resource{c.discovery, "endpointslices", namespace, selector}
}

func (r resource) list(ctx context.Context, o meta_v1.ListOptions) (runtime.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return r.request(&o).Do(ctx).Get()
}

func (r resource) watch(ctx context.Context, o meta_v1.ListOptions) (watch.Interface, error) {
	o.Watch = true
	return r.request(&o).Watch(ctx)
}

func (r resource) request(o *meta_v1.ListOptions) *rest.Request {
	o.LabelSelector = r.labelMatch
	return r.client.Get().Namespace(r.namespace).Resource(r.plural).VersionedParams(o, meta_v1.ParameterCodec)
}
