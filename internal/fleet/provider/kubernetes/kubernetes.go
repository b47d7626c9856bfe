// Package kubernetes is the provider whose instances are pods: one pod a Proxy, in the
// Proxy's namespace, that runs gatehouse-forward.
//
// It watches nothing and caches nothing: each call is one or two requests to the API
// server. A pod is ours when its labels and its name say so, and one that has our name
// and another UID is never taken for ours. Nothing here waits for a pod.
package kubernetes

import (
	"context"
	"fmt"

	core_v1 "k8s.io/api/core/v1"
	api_errors "k8s.io/apimachinery/pkg/api/errors"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typed_v1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// Options are what all pods have in common, and where they may be.
type Options struct {
	// Config is how the API server is reached. The account needs get, list, create and
	// delete of pods. Limits of rates are those of whoever calls.
	Config *rest.Config
	// Cluster is the label that pods must have to be looked at and deleted; empty for any.
	Cluster string
	// Namespaces are those that are listed; empty for all, which needs the rights in all.
	// Pods elsewhere are unknown, and nothing follows from their absence in a list.
	Namespaces []string
	// Template is what all pods have in common.
	Template Template
}

// Provider makes pods.
type Provider struct {
	o   Options
	api typed_v1.PodsGetter
}

var _ provider.Provider = (*Provider)(nil)

// New returns a provider. It makes no request.
func New(o Options) (*Provider, error) {
	api, err := typed_v1.NewForConfig(patient(o.Config))
	if err != nil {
		return nil, fmt.Errorf("the cluster's API cannot be used: %w", err)
	}
	return &Provider{o: o, api: api}, nil
}

// Create implements [provider.Provider]. An image that is missing, or a pod that the API
// server calls invalid, is permanent; an exceeded ResourceQuota is a quota.
func (p *Provider) Create(ctx context.Context, r provider.CreateRequest) (provider.Instance, error) {
	pod, err := buildPod(p.o.Template, r)
	if err != nil {
		return provider.Instance{}, fmt.Errorf("%w: %w", provider.ErrPermanent, err)
	}
	made, err := p.api.Pods(r.Namespace).Create(ctx, pod, meta_v1.CreateOptions{})
	switch {
	case api_errors.IsAlreadyExists(err):
		return p.adopt(ctx, r)
	case err != nil:
		return provider.Instance{}, failed("create", r.Namespace, r.Name, err)
	}
	return instance(made), nil
}

// adopt returns the pod that has the name of the request, if it is the Proxy's.
func (p *Provider) adopt(ctx context.Context, r provider.CreateRequest) (provider.Instance, error) {
	pod, err := p.api.Pods(r.Namespace).Get(ctx, r.Name, meta_v1.GetOptions{})
	switch {
	case err != nil: // also when it has gone meanwhile: the next attempt succeeds
		return provider.Instance{}, failed("look at", r.Namespace, r.Name, transient(err))
	case pod.Labels[egress_v1alpha1.ClusterLabel] != r.Cluster || pod.Labels[egress_v1alpha1.UIDLabel] != r.UID:
		return provider.Instance{}, fmt.Errorf("%w: pod %s/%s exists and is not of this Proxy: its labels %s=%q and %s=%q are others; delete the pod",
			provider.ErrPermanent, r.Namespace, r.Name, egress_v1alpha1.ClusterLabel, pod.Labels[egress_v1alpha1.ClusterLabel],
			egress_v1alpha1.UIDLabel, pod.Labels[egress_v1alpha1.UIDLabel])
	case pod.DeletionTimestamp != nil:
		return provider.Instance{}, fmt.Errorf("%w: pod %s/%s is still being deleted", provider.ErrTransient, r.Namespace, r.Name)
	}
	return instance(pod), nil
}

// Get implements [provider.Provider].
func (p *Provider) Get(ctx context.Context, id string) (provider.Instance, error) {
	pod, err := p.find(ctx, id)
	if err != nil {
		return provider.Instance{}, err
	}
	return instance(pod), nil
}

// Delete implements [provider.Provider]. The pod gets the time of its grace period.
func (p *Provider) Delete(ctx context.Context, id string) error {
	pod, err := p.find(ctx, id)
	switch {
	case provider.Class(err) == provider.ErrNotFound: //nolint:errorlint // Class returns the sentinels themselves
		return nil
	case err != nil:
		return err
	case pod.DeletionTimestamp != nil:
		return nil
	}
	only := meta_v1.DeleteOptions{Preconditions: &meta_v1.Preconditions{UID: &pod.UID}}
	err = p.api.Pods(pod.Namespace).Delete(ctx, pod.Name, only)
	if err == nil || gone(err, pod.Name) || api_errors.IsConflict(err) {
		return nil // a conflict says that this UID is gone
	}
	return failed("delete", pod.Namespace, pod.Name, err)
}

// find returns the pod with this ID. One without our labels is none of ours, whoever
// wrote its ID: nothing else is looked at or deleted.
func (p *Provider) find(ctx context.Context, id string) (*core_v1.Pod, error) {
	at, err := parseID(id)
	if err != nil {
		return nil, err
	}
	pod, err := p.api.Pods(at.namespace).Get(ctx, at.name, meta_v1.GetOptions{})
	switch {
	case gone(err, at.name):
		return nil, fmt.Errorf("%w: pod %s/%s", provider.ErrNotFound, at.namespace, at.name)
	case err != nil:
		return nil, failed("look at", at.namespace, at.name, err)
	case pod.UID != at.uid || !p.ours(pod):
		return nil, fmt.Errorf("%w: pod %s/%s is another one", provider.ErrNotFound, at.namespace, at.name)
	}
	return pod, nil
}

// ours tells whether a pod has our cluster's label and the name of its UID's label.
func (p *Provider) ours(pod *core_v1.Pod) bool {
	uid, label := pod.Labels[egress_v1alpha1.UIDLabel], pod.Labels[egress_v1alpha1.ClusterLabel]
	return uid != "" && label != "" && (label == p.o.Cluster || p.o.Cluster == "") && pod.Name == provider.NameFromUID(uid)
}
