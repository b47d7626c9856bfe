package compile

import (
	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/features"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// grantFeatures are the features of Gateway API that this file compiles.
var grantFeatures = featureNames{
	features.SupportReferenceGrant,
}

// anyName stands for every name of a kind in a namespace.
const anyName = "*"

// permission says that objects of one kind and namespace may refer to an object
// of another kind and namespace, or to all of them.
type permission struct {
	FromGroup, FromKind, FromNamespace string
	To                                 target // Name may be anyName
}

func (p permission) key() string {
	return p.FromGroup + "/" + p.FromKind + "/" + p.FromNamespace + ">" +
		p.To.Group + "/" + p.To.Kind + "/" + p.To.Namespace + "/" + p.To.Name
}

// permissions are what one ReferenceGrant permits: every pair of from and to.
func permissions(namespace string, spec gateway_v1.ReferenceGrantSpec) []permission {
	var out []permission
	for _, from := range spec.From {
		for _, to := range spec.To {
			out = append(out, permission{
				FromGroup: string(from.Group), FromKind: string(from.Kind), FromNamespace: string(from.Namespace),
				To: target{
					Group: string(to.Group), Kind: string(to.Kind), Namespace: namespace,
					Name: string(orElse(to.Name, anyName)),
				},
			})
		}
	}
	return out
}

// grantItems makes each permission a value of its own: what reads whether one
// exists runs again only when that answer flips.
func grantItems(_ *derive.Ctx, _ string, grant *gateway_v1.ReferenceGrant) []derive.Item[string] {
	var keys []string
	for _, p := range permissions(grant.Namespace, grant.Spec) {
		keys = append(keys, p.key())
	}
	var items []derive.Item[string]
	for _, key := range distinct(keys) {
		items = append(items, derive.Item[string]{Key: key, Value: key})
	}
	return items
}

// permits reports whether an object of a kind and namespace may refer to a
// target, and by which permission; references within a namespace need none.
func (b *build) permits(c *derive.Ctx, fromKind, fromNamespace string, to target) (by string, yes bool) {
	if to.Namespace == fromNamespace {
		return "", true
	}
	p := permission{groupOf(fromKind), fromKind, fromNamespace, to}
	for _, name := range []string{to.Name, anyName} {
		p.To.Name = name
		if derive.Exists(c, b.permissions, p.key()) {
			return p.key(), true
		}
	}
	return "", false
}

func notPermitted(field, fromKind, fromNamespace string, to target) *problem {
	return problemf(verdict.RefNotPermitted, field,
		"%s %s is in another namespace: add a ReferenceGrant in namespace %s from %s in namespace %s to %s %s",
		to.Kind, to.name(), to.Namespace, fromKind, fromNamespace, to.Kind, to.Name).about(to.key())
}

// grantFinding decides over a ReferenceGrant.
func (b *build) grantFinding(c *derive.Ctx, key string, grant *gateway_v1.ReferenceGrant) (Finding, bool) {
	self := store.Key{Collection: kindReferenceGrant, Name: key}
	used, needed := false, false
	for _, p := range permissions(grant.Namespace, grant.Spec) {
		if b.usedBySomething(c, p.key()) {
			used = true
			needed = needed || !b.permittedOtherwise(c, p)
		}
	}
	switch {
	case !used:
		return exclude(self, problemf(verdict.NotReferenced, "", "no reference that serves needs the grant")), true
	case !needed:
		return serve(self, ok(verdict.Redundant, "references that serve need the grant, and other grants permit them as well")), true
	default:
		return serve(self, ok(verdict.Referenced, "references that serve need the grant")), true
	}
}

func (b *build) permittedOtherwise(c *derive.Ctx, p permission) bool {
	if derive.Size(c, b.permissions, p.key()) > 1 {
		return true
	}
	everything := p
	everything.To.Name = anyName
	return p.To.Name != anyName && derive.Exists(c, b.permissions, everything.key())
}
