package secret

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"

	core_v1 "k8s.io/api/core/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// callTimeout bounds each request but watches, which the server ends.
const callTimeout = 30 * time.Second

// api reads and writes one Secret. Reads name it in a field selector, which is what a Role
// with resourceNames allows.
type api struct {
	client          rest.Interface
	namespace, name string
}

// newAPI knows Secrets alone: a client of everything would be most of the binary. It tells
// heard of each answer to a read, and of each attempt that had none: requests are tried
// several times, and a watch whose connection breaks looks like one that has ended.
func newAPI(config *rest.Config, namespace, name string, heard func(context.Context, error)) (*api, error) {
	scheme := runtime.NewScheme()
	version := core_v1.SchemeGroupVersion
	scheme.AddKnownTypes(version, &core_v1.Secret{}, &core_v1.SecretList{})
	meta_v1.AddToGroupVersion(scheme, version)
	meta_v1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion = "/api", &version
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return listener{next, heard} })
	client, err := rest.RESTClientFor(config)
	return &api{client, namespace, name}, err
}

type listener struct {
	next  http.RoundTripper
	heard func(context.Context, error)
}

// RoundTrip implements [http.RoundTripper]. What an answer of an error says is told by who
// asked.
func (l listener) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := l.next.RoundTrip(r)
	if r.Method == http.MethodGet && (err != nil || answer.StatusCode < http.StatusBadRequest) {
		l.heard(r.Context(), err)
	}
	return answer, err
}

func (a *api) read(o *meta_v1.ListOptions) *rest.Request {
	o.FieldSelector = fields.OneTermEqualSelector(meta_v1.ObjectNameField, a.name).String()
	return a.client.Get().Namespace(a.namespace).Resource("secrets").VersionedParams(o, meta_v1.ParameterCodec)
}

func (a *api) list(ctx context.Context, o meta_v1.ListOptions) (runtime.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return a.read(&o).Do(ctx).Get()
}

func (a *api) watch(ctx context.Context, o meta_v1.ListOptions) (watch.Interface, error) {
	o.Watch = true
	return a.read(&o).Watch(ctx)
}

// create fails if the Secret exists, update if it has changed since it was read.
func (a *api) create(ctx context.Context, secret *core_v1.Secret) error {
	return a.write(ctx, a.client.Post(), secret)
}

func (a *api) update(ctx context.Context, secret *core_v1.Secret) error {
	return a.write(ctx, a.client.Put().Name(a.name), secret)
}

func (a *api) write(ctx context.Context, request *rest.Request, secret *core_v1.Secret) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return request.Namespace(a.namespace).Resource("secrets").Body(secret).Do(ctx).Error()
}

// cause is an error without what says nothing to people: the query of a request, and the
// port of this side, which makes the same error another one each time.
func cause(err error) error {
	e, ok := errors.AsType[*url.Error](err)
	if !ok {
		return err
	}
	u, bad := url.Parse(e.URL)
	if bad != nil {
		return err
	}
	u.RawQuery = ""
	why := e.Err
	if o, ok := errors.AsType[*net.OpError](why); ok {
		why = o.Err
	}
	return &url.Error{Op: e.Op, URL: u.String(), Err: why}
}
