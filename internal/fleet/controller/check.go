package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	authorization_v1 "k8s.io/api/authorization/v1"
	api_errors "k8s.io/apimachinery/pkg/api/errors"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// Right is what an account must be allowed to do with a resource.
type Right struct {
	Group, Resource, Subresource string
	Verbs                        []string
	// Namespace is where, and Name which one; empty are the namespaces whose Proxies
	// count, and all.
	Namespace, Name string
}

// rights are the controller's own.
func (c *Controller) rights() []Right {
	const group = egress_v1alpha1.Group
	return append([]Right{
		{Group: group, Resource: "proxies", Verbs: []string{"get", "list", "watch", "patch"}},
		{Group: group, Resource: "proxies", Subresource: "status", Verbs: []string{"patch"}},
		{Resource: "secrets", Verbs: []string{"get", "list", "watch"}},
		{Group: "coordination.k8s.io", Resource: "leases", Verbs: []string{"create"}, Namespace: c.o.Namespace},
		{Group: "coordination.k8s.io", Resource: "leases", Verbs: []string{"get", "update"}, Namespace: c.o.Namespace, Name: c.o.Lease},
	}, c.o.Rights...)
}

// checkPause is between two tries to reach an API server that does not answer.
const checkPause = 2 * time.Second

// check finds out whether the fleet can work in this cluster, and waits while that cannot
// be known.
func (c *Controller) check(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(c.o.Config)
	if err != nil {
		return err
	}
	said := ""
	for {
		err := c.checkOnce(ctx, client)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if problem, final := errors.AsType[*startError](err); final {
			return problem
		}
		if said != err.Error() {
			said = err.Error()
			c.o.Log.Warn("the Kubernetes API does not answer; trying again", observe.KeyError, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(checkPause):
		}
	}
}

// startError says what must be done before the fleet can work.
type startError struct{ text string }

func (e *startError) Error() string { return e.text }

func (c *Controller) checkOnce(ctx context.Context, client kubernetes.Interface) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	system, err := client.CoreV1().Namespaces().Get(ctx, meta_v1.NamespaceSystem, meta_v1.GetOptions{})
	if err != nil {
		return refused(err)
	}
	c.uid = string(system.UID)
	version := egress_v1alpha1.GroupVersion.String()
	_, err = client.Discovery().ServerResourcesForGroupVersionWithContext(ctx, version)
	switch {
	case api_errors.IsNotFound(err):
		return &startError{fmt.Sprintf("the cluster does not know the kind Proxy of %s; apply config/crd/egress.gatehouse.dev_proxies.yaml", version)}
	case err != nil:
		return refused(err)
	}
	return c.checkRights(ctx, client)
}

// refused tells what will not change by itself from what may.
func refused(err error) error {
	switch {
	case api_errors.IsUnauthorized(err):
		return &startError{fmt.Sprintf("the Kubernetes API does not know this account: %v; correct --kubeconfig, or the ServiceAccount of the pod", err)}
	case api_errors.IsForbidden(err):
		return &startError{fmt.Sprintf("a right is missing: %v; the roles of deploy/fleet give it", err)}
	}
	return err
}

// checkRights asks the API server for each right.
func (c *Controller) checkRights(ctx context.Context, client kubernetes.Interface) error {
	var missing []string
	for _, r := range c.rights() {
		for _, namespace := range c.where(r) {
			for _, verb := range r.Verbs {
				ok, err := allowed(ctx, client, r, namespace, verb)
				if err != nil {
					return refused(err)
				}
				if !ok {
					missing = append(missing, r.in(namespace, verb))
				}
			}
		}
	}
	if len(missing) > 0 {
		return &startError{fmt.Sprintf("rights are missing: %s; the roles of deploy/fleet give them", strings.Join(slices.Compact(missing), ", "))}
	}
	return nil
}

func (c *Controller) where(r Right) []string {
	if r.Namespace != "" {
		return []string{r.Namespace}
	}
	return namespaces(c.o.Namespaces)
}

func (r Right) in(namespace, verb string) string {
	what := verb + " " + r.Resource
	if r.Subresource != "" {
		what += "/" + r.Subresource
	}
	if r.Name != "" {
		what += " " + r.Name
	}
	if namespace == "" {
		return what + " in all namespaces"
	}
	return what + " in namespace " + namespace
}

func allowed(ctx context.Context, client kubernetes.Interface, r Right, namespace, verb string) (bool, error) {
	review := &authorization_v1.SelfSubjectAccessReview{Spec: authorization_v1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorization_v1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Group: r.Group, Resource: r.Resource, Subresource: r.Subresource, Name: r.Name,
		},
	}}
	answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, meta_v1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return answer.Status.Allowed, nil
}
