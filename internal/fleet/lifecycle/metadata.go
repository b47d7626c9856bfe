package lifecycle

import (
	"maps"
	"slices"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// InstanceName returns the name of the instance of p, under every provider.
func InstanceName(p *egress_v1alpha1.Proxy) string { return provider.NameFromUID(string(p.UID)) }

// Maker returns the name of the provider that made the instance of p, or is to make it.
func Maker(p *egress_v1alpha1.Proxy) string {
	if p.Status.Provider != "" {
		return p.Status.Provider
	}
	return p.Spec.Provider
}

// Owned says whether p is kept until its instance is gone.
func Owned(p *egress_v1alpha1.Proxy) bool {
	return slices.Contains(p.Finalizers, egress_v1alpha1.InstanceFinalizer)
}

func own(p *egress_v1alpha1.Proxy) Action {
	next := p.DeepCopy()
	next.Finalizers = append(next.Finalizers, egress_v1alpha1.InstanceFinalizer)
	return Action{Do: PatchMetadata, Proxy: next}
}

func disown(p *egress_v1alpha1.Proxy) Action {
	next := p.DeepCopy()
	next.Finalizers = slices.DeleteFunc(next.Finalizers, func(f string) bool { return f == egress_v1alpha1.InstanceFinalizer })
	return Action{Do: PatchMetadata, Proxy: next}
}

// madeFrom returns the hash that the annotation of p says its instance was made from.
func madeFrom(p *egress_v1alpha1.Proxy) string {
	return p.Annotations[egress_v1alpha1.SpecHashAnnotation]
}

func annotate(p *egress_v1alpha1.Proxy, hash string) Action {
	next := p.DeepCopy()
	next.Annotations = maps.Clone(next.Annotations)
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	next.Annotations[egress_v1alpha1.SpecHashAnnotation] = hash
	return Action{Do: PatchMetadata, Proxy: next}
}

func retry(p *egress_v1alpha1.Proxy) string { return p.Annotations[egress_v1alpha1.RetryAnnotation] }

func abandoned(p *egress_v1alpha1.Proxy) bool {
	return p.Annotations[egress_v1alpha1.AbandonAnnotation] == "true"
}
