package failmode

import (
	"time"

	certificates_v1beta1 "k8s.io/api/certificates/v1beta1"
	core_v1 "k8s.io/api/core/v1"
	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// Modes say which classes close; the zero Modes retain everything that may be.
type Modes struct {
	Certificates bool // Secrets
	Authorities  bool // ConfigMaps, ClusterTrustBundles, BackendTLSPolicies
	Access       bool // ReferenceGrants, what narrows allowedRoutes, changed ExternalAuth filters
	Deletions    bool // of any object
}

// longest is how old a retained copy of a Secret may become.
const longest = 7 * 24 * time.Hour

// Lifetime is how long an earlier revision of an object may be retained; 0 is
// without end.
func Lifetime(key store.Key) time.Duration {
	if key.Collection == "Secret" {
		return longest
	}
	return 0
}

// Fallback is what may serve of an object while its observed revision, nil for a
// deletion, is withheld: accepted itself, less of it, nil, or observed itself.
func (m Modes) Fallback(_ store.Key, accepted, observed any) any {
	if observed == nil {
		return m.deleted(accepted)
	}
	switch a := accepted.(type) {
	case *core_v1.Secret:
		return pick(m.Certificates, nil, accepted)
	case *core_v1.ConfigMap, *certificates_v1beta1.ClusterTrustBundle:
		return pick(m.Authorities, nil, meetAuthorities(a, observed))
	case *gateway_v1.BackendTLSPolicy:
		return pick(m.Authorities, distrust(a), accepted)
	case *gateway_v1.ReferenceGrant:
		return pick(m.Access, nil, meetGrants(a, observed))
	case *gateway_v1.Gateway, *gateway_v1.ListenerSet:
		narrowed := meetListeners(a, observed)
		return pick(m.Access && (narrowed != accepted || changedAuth(a, observed)), nil, narrowed)
	case *gateway_v1.HTTPRoute:
		return pick(m.Access && changedAuth(a, observed), nil, accepted)
	case *core_v1.Namespace:
		return observed // its labels let others in and keep them out
	default:
		return accepted
	}
}

func pick(closes bool, closed, retained any) any {
	if closes {
		return closed
	}
	return retained
}

// deleted is what may serve of an object that was deleted.
func (m Modes) deleted(accepted any) any {
	switch accepted.(type) {
	case *core_v1.Secret, *core_v1.ConfigMap, *certificates_v1beta1.ClusterTrustBundle, *gateway_v1.ReferenceGrant, *core_v1.Namespace:
		return nil
	default:
		return pick(m.Deletions, nil, accepted)
	}
}

// Close is what is left of an object of which nothing may serve: nothing, but of a
// BackendTLSPolicy, without which its backends would be reached in clear.
func Close(_ store.Key, value any) any {
	if policy, ok := value.(*gateway_v1.BackendTLSPolicy); ok {
		return distrust(policy)
	}
	return nil
}

// distrust is a policy by which no backend can be verified, so that nothing is
// forwarded to those that it is for.
func distrust(policy *gateway_v1.BackendTLSPolicy) any {
	validation := policy.Spec.Validation
	if len(validation.CACertificateRefs) == 0 && validation.WellKnownCACertificates == nil {
		return policy
	}
	out := policy.DeepCopy()
	out.Spec.Validation.CACertificateRefs, out.Spec.Validation.WellKnownCACertificates = nil, nil
	return out
}
