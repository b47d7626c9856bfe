package compile

import (
	certificates_v1beta1 "k8s.io/api/certificates/v1beta1"
	core_v1 "k8s.io/api/core/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// namespaceFinding decides over a Namespace: it matters by the selectors that
// select it.
func (b *build) namespaceFinding(c *derive.Ctx, key string, _ *core_v1.Namespace) (Finding, bool) {
	self := store.Key{Collection: kindNamespace, Name: key}
	for _, selection := range derive.Prefix(c, b.selected, key+"|") {
		if b.usedBySomething(c, selection.Key) {
			return serve(self, ok(verdict.Referenced, "routes or ListenerSets that serve attach by its labels")), true
		}
	}
	return exclude(self, problemf(verdict.NotReferenced, "", "no route and no ListenerSet that serves attaches by its labels")), true
}

// configMapFinding decides over a ConfigMap: it matters by the authorities in it.
func (b *build) configMapFinding(c *derive.Ctx, key string, _ *core_v1.ConfigMap) (Finding, bool) {
	return b.authorityFinding(c, store.Key{Collection: kindConfigMap, Name: key}), true
}

// bundleFinding decides over a ClusterTrustBundle likewise.
func (b *build) bundleFinding(c *derive.Ctx, key string, _ *certificates_v1beta1.ClusterTrustBundle) (Finding, bool) {
	return b.authorityFinding(c, store.Key{Collection: kindClusterTrustBundle, Name: key}), true
}

func (b *build) authorityFinding(c *derive.Ctx, self store.Key) Finding {
	if b.usedBySomething(c, self.String()) {
		return serve(self, ok(verdict.Referenced, "backends of routes that serve are verified by it"))
	}
	return exclude(self, problemf(verdict.NotReferenced, "", "nothing that is served is verified by it"))
}

// notServed are the kinds that are observed and have no effect, and why.
func notServed(kind string) *problem {
	switch kind {
	case "XMesh":
		return problemf(verdict.OutOfScope, "", "Gatehouse is no service mesh")
	default:
		return problemf(verdict.OutOfScope, "", "Gatehouse serves no %s", kind)
	}
}

// otherFinding is the finding of every object of a kind that has no effect.
func (b *build) otherFinding(kind snapshot.Kind) func(*derive.Ctx, string, snapshot.Object) (Finding, bool) {
	why := notServed(kind.Name)
	if !b.open(kind.Feature) {
		why = disabled(kind.Feature)
	}
	return func(_ *derive.Ctx, key string, _ snapshot.Object) (Finding, bool) {
		return exclude(store.Key{Collection: kind.Name, Name: key}, why), true
	}
}

func (b *build) open(f snapshot.Feature) bool {
	switch f {
	case snapshot.FeatureExperimental:
		return b.Experimental
	case snapshot.FeatureXBackend:
		return b.XBackend
	default:
		return true
	}
}
