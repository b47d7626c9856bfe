package kubernetes

import (
	"context"
	"errors"
	"net/http"
	"testing"

	core_v1 "k8s.io/api/core/v1"
	api_errors "k8s.io/apimachinery/pkg/api/errors"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

func TestClass(t *testing.T) {
	pods := schema.GroupResource{Resource: string(core_v1.ResourcePods)}
	for name, c := range map[string]struct {
		err  error
		want error
	}{
		"quota":       {api_errors.NewForbidden(pods, "px", errors.New("exceeded quota: small, requested: pods=1, used: pods=2, limited: pods=2")), provider.ErrQuotaExceeded},
		"rights":      {api_errors.NewForbidden(pods, "px", errors.New(`User "x" cannot create resource "pods"`)), provider.ErrPermanent},
		"policy":      {api_errors.NewForbidden(pods, "px", errors.New(`violates PodSecurity "restricted:latest"`)), provider.ErrPermanent},
		"new":         {api_errors.NewForbidden(pods, "px", errors.New(`error looking up service account crawl/default: serviceaccount "default" not found`)), provider.ErrTransient},
		"terminating": {terminating(pods), provider.ErrTransient},
		"invalid":     {api_errors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "px", nil), provider.ErrPermanent},
		"bad":         {api_errors.NewBadRequest("cannot be read"), provider.ErrPermanent},
		"too large":   {api_errors.NewRequestEntityTooLargeError("3 MB"), provider.ErrPermanent},
		"namespace":   {api_errors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "crawl"), provider.ErrTransient},
		"too many":    {api_errors.NewTooManyRequests("later", 1), provider.ErrTransient},
		"account":     {api_errors.NewUnauthorized("token"), provider.ErrTransient},
		"server":      {api_errors.NewInternalError(errors.New("etcdserver: no leader")), provider.ErrTransient},
		"deadline":    {context.DeadlineExceeded, provider.ErrTransient},
		"unreachable": {errors.New("connection refused"), provider.ErrTransient},
	} {
		if got := provider.Class(failed("create", "crawl", "px", c.err)); !errors.Is(got, c.want) {
			t.Errorf("%s: class %v, want %v", name, got, c.want)
		}
	}
}

// TestGone believes only the API server itself.
func TestGone(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	generic := func(code int) error {
		return api_errors.NewGenericServerResponse(code, "get", pods, "px", "<html>not here</html>", 0, true)
	}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"the pod":       {api_errors.NewNotFound(pods, "px"), true},
		"another":       {api_errors.NewNotFound(pods, "py"), false},
		"a namespace":   {api_errors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "px"), false},
		"something 404": {generic(http.StatusNotFound), false},
		"gone":          {generic(http.StatusGone), false},
		"none":          {nil, false},
	} {
		if got := gone(c.err, "px"); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// terminating is what the admission of a namespace that goes says.
func terminating(r schema.GroupResource) error {
	err := api_errors.NewForbidden(r, "px", errors.New("unable to create new content in namespace crawl because it is being terminated"))
	err.ErrStatus.Details.Causes = []meta_v1.StatusCause{{Type: core_v1.NamespaceTerminatingCause}}
	return err
}
