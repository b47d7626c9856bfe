package v1alpha1

import (
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group and Version of this package's kinds.
const (
	Group   = "egress.gatehouse.dev"
	Version = "v1alpha1"
)

// GroupVersion is Group and Version.
var GroupVersion = schema.GroupVersion{Group: Group, Version: Version}

// AddToScheme makes the kinds of this package known to a scheme. It never fails.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Proxy{}, &ProxyList{})
	meta_v1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
