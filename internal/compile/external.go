package compile

import (
	"net/netip"

	gateway_xv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// externalBackend is an XBackend that names a host outside.
type externalBackend struct {
	Host     string
	Port     uint16
	Protocol string // as the XBackend says it; empty leaves it to the route
	TLS      *model.UpstreamTLS
	Uses     []string // objects that verification rests on
	// Problem is why nothing is forwarded to it.
	Problem *problem
	// Failed tells that the problem is one that no defined outcome covers.
	Failed bool
}

// readExternal reads an XBackend.
func (b *build) readExternal(c *derive.Ctx, _ string, object *gateway_xv1alpha1.XBackend) (externalBackend, bool) {
	spec := object.Spec
	if spec.Type != gateway_xv1alpha1.BackendTypeExternalHostname || spec.ExternalHostname == nil {
		return externalBackend{Problem: problemf(verdict.NotYetSupported, "spec.type", "%q is not served yet: use ExternalHostname, or a Service", spec.Type)}, true
	}
	out := externalBackend{
		Host: string(spec.ExternalHostname.Hostname), Port: uint16(spec.Port.Number),
		Protocol: string(orElse(spec.Protocol, "")),
	}
	if _, err := netip.ParseAddr(out.Host); err == nil {
		out.Problem = problemf(verdict.UnsupportedValue, "spec.externalHostname.hostname", "%q: must be a host name; for an address use a Service with an EndpointSlice", out.Host)
		out.Failed = true
		return out, true
	}
	if out.Port == 0 {
		out.Problem = problemf(verdict.UnsupportedValue, "spec.port.number", "0: must be between 1 and 65535")
		out.Failed = true
		return out, true
	}
	out.TLS, out.Uses, out.Problem = b.upstreamTLS(c, object.Namespace, spec.TLS)
	return out, true
}

// upstreamTLS reads how an XBackend is to be verified. What cannot be verified as
// asked is not forwarded to.
func (b *build) upstreamTLS(c *derive.Ctx, namespace string, spec *gateway_xv1alpha1.BackendTLS) (*model.UpstreamTLS, []string, *problem) {
	if spec == nil || spec.Mode == gateway_xv1alpha1.BackendTLSModeNone || spec.Mode == "" {
		return nil, nil, nil
	}
	const field = "spec.tls"
	switch {
	case spec.Mode != gateway_xv1alpha1.BackendTLSModeServerOnly:
		return nil, nil, problemf(verdict.NotYetSupported, field+".mode", "%q: client certificates are not presented to backends yet", spec.Mode)
	case spec.Validation == nil:
		return nil, nil, problemf(verdict.UnsupportedValue, field+".validation", "must be set with mode %s", spec.Mode)
	}
	t := b.readTrust(c, field+".validation", namespace, *spec.Validation)
	return t.TLS, t.Uses, t.failure()
}

// externalFinding decides over an XBackend.
func (b *build) externalFinding(c *derive.Ctx, key string, _ *gateway_xv1alpha1.XBackend) (Finding, bool) {
	self := store.Key{Collection: kindXBackend, Name: key}
	at, _ := derive.Get(c, b.externals, key)
	switch {
	case !b.XBackend:
		return exclude(self, disabled(snapshot.FeatureXBackend)), true
	case at.Failed:
		return fail(self, at.Problem), true
	case at.Problem != nil:
		return exclude(self, at.Problem), true
	case !b.usedBySomething(c, self.String()):
		return exclude(self, problemf(verdict.NotReferenced, "", "no route that serves forwards to it")), true
	default:
		return serve(self, ok(verdict.Referenced, "routes that serve forward to it")), true
	}
}

func disabled(by snapshot.Feature) *problem {
	return problemf(verdict.FeatureDisabled, "", "the switch %s is off: turn it on and restart", by)
}
