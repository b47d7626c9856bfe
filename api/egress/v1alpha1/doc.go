// Package v1alpha1 is the API group egress.gatehouse.dev: forward proxies that
// crawlers leave the cluster through.
//
// A field is here because something reads it. What is written to a Proxy and seen
// outside (reasons, labels, the finalizer) is a constant of this package.
//
// +kubebuilder:object:generate=true
// +groupName=egress.gatehouse.dev
package v1alpha1

//go:generate go tool -modfile=../../../tools/generate/go.mod controller-gen object crd:crdVersions=v1 paths=. output:crd:dir=../../../config/crd
