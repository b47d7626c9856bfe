package compile

import (
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
			return serve(self, ok(verdict.Referenced, "routes that serve attach by its labels")), true
		}
	}
	return exclude(self, problemf(verdict.NotReferenced, "", "no route that serves attaches by its labels")), true
}

// notServed are the kinds that are observed and have no effect, and why.
func notServed(kind string) *problem {
	switch kind {
	case "XMesh":
		return problemf(verdict.OutOfScope, "", "Gatehouse is no service mesh")
	case "ConfigMap", "ClusterTrustBundle":
		return problemf(verdict.NotReferenced, "", "nothing that is served refers to a %s yet", kind)
	default:
		return problemf(verdict.NotYetSupported, "", "no %s is served yet", kind)
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
