package compile

import (
	"strings"

	gateway_xv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// externalBackend is an XBackend: a host name outside, or endpoints chosen by labels.
type externalBackend struct {
	Host     string
	Selector string // of endpoints, where there is no Host; see readSelector
	Port     uint16
	Protocol string // as the XBackend says it; empty leaves it to the route
	TLS      *model.UpstreamTLS
	// Presents is the XBackend's own certificate for the Gateway to show; empty
	// leaves it to the Gateway.
	Presents model.CertificateID
	Uses     []string // objects that the connection rests on, and permissions
	// Problem is why nothing is forwarded to it.
	Problem *problem
	// Failed tells that the problem is one that no defined outcome covers.
	Failed   bool
	Warnings []*problem
	Session  *session
}

// readExternal reads an XBackend.
func (b *build) readExternal(c *derive.Ctx, key string, object *gateway_xv1alpha1.XBackend) (externalBackend, bool) {
	spec := object.Spec
	out := externalBackend{Port: uint16(spec.Port.Number), Protocol: string(orElse(spec.Protocol, ""))}
	why := out.locate(object.Namespace, spec)
	if why == nil && out.Port == 0 {
		why = problemf(verdict.UnsupportedValue, "spec.port.number", "0: must be between 1 and 65535")
	}
	if why != nil {
		out.Problem, out.Failed = why, true
		return out, true
	}
	if out.Session = readSession("spec.sessionPersistence", kindXBackend+" "+key, spec.SessionPersistence); out.Session != nil {
		out.Problem, out.Warnings = out.Session.Problem, append(out.Warnings, out.Session.Warnings...)
		if out.Failed = out.Problem != nil; out.Failed {
			return out, true
		}
	}
	if spec.Protocol != nil && *spec.Protocol == gateway_xv1alpha1.BackendProtocolMCP {
		out.Problem = problemf(verdict.UnsupportedProtocol, "spec.protocol", "%q is not spoken here: use HTTP, which carries it", *spec.Protocol)
		return out, true
	}
	b.secureExternal(c, object, &out)
	return out, true
}

// locate reads where an XBackend is.
func (e *externalBackend) locate(namespace string, spec gateway_xv1alpha1.BackendSpec) *problem {
	switch {
	case spec.Type == gateway_xv1alpha1.BackendTypeExternalHostname && spec.ExternalHostname != nil:
		e.Host = strings.ToLower(string(spec.ExternalHostname.Hostname))
		if model.IsAddress(e.Host) {
			return problemf(verdict.UnsupportedValue, "spec.externalHostname.hostname", "%q: must be a host name; for an address use a Service with an EndpointSlice", e.Host)
		}
		if strings.HasSuffix(e.Host, ".cluster.local") {
			return problemf(verdict.UnsupportedValue, "spec.externalHostname.hostname", "%q: must not be in the cluster's own domain; use a Service", e.Host)
		}
		return hostname("spec.externalHostname.hostname", e.Host, false)
	case spec.Type == gateway_xv1alpha1.BackendTypeEndpointSelector && spec.EndpointSelector != nil && len(spec.EndpointSelector.MatchLabels) > 0:
		e.Selector = readSelector(namespace, spec.EndpointSelector.LabelSelector)
		return nil
	default:
		return problemf(verdict.UnsupportedValue, "spec.type", "%q: must be ExternalHostname with externalHostname, or EndpointSelector with endpointSelector.matchLabels", spec.Type)
	}
}

// secureExternal reads how an XBackend is to be verified, and by what it verifies
// the Gateway. What cannot be done as asked is not forwarded to.
func (b *build) secureExternal(c *derive.Ctx, object *gateway_xv1alpha1.XBackend, out *externalBackend) {
	spec := object.Spec.TLS
	if spec == nil || spec.Mode == gateway_xv1alpha1.BackendTLSModeNone || spec.Mode == "" {
		return
	}
	if spec.Validation == nil {
		out.Problem = problemf(verdict.UnsupportedValue, "spec.tls.validation", "must be set with mode %s", spec.Mode)
		return
	}
	t := b.readTrust(c, "spec.tls.validation", object.Namespace, *spec.Validation)
	out.TLS, out.Uses, out.Problem = t.TLS, t.Uses, t.failure()
	if spec.Mode != gateway_xv1alpha1.BackendTLSModeClientAndServer {
		return
	}
	ref := externalCertificate(object)
	if ref == nil {
		out.Problem = first(out.Problem, problemf(verdict.UnsupportedValue, "spec.tls.clientCertificateRef", "must be set with mode %s", spec.Mode))
		return
	}
	by, _, why := b.judge(c, referrer{Kind: kindXBackend, Namespace: object.Namespace}, *ref)
	if why != nil {
		out.Problem = first(out.Problem, clientProblem(why))
		return
	}
	out.Presents = model.CertificateID(ref.To.name())
	if by != "" {
		out.Uses = append(out.Uses, by)
	}
}

// externalCertificate is the certificate that an XBackend wants to be shown, or nil.
func externalCertificate(object *gateway_xv1alpha1.XBackend) *certificateRef {
	tls := object.Spec.TLS
	if tls == nil || tls.Mode != gateway_xv1alpha1.BackendTLSModeClientAndServer || tls.ClientCertificateRef == nil {
		return nil
	}
	return &certificateRef{Field: "spec.tls.clientCertificateRef", To: secretTarget(*tls.ClientCertificateRef, object.Namespace)}
}

// externalCertificateUses is the Secret that an XBackend refers to and may.
func (b *build) externalCertificateUses(c *derive.Ctx, _ string, object *gateway_xv1alpha1.XBackend) []derive.Item[certificateUse] {
	ref := externalCertificate(object)
	if ref == nil || !b.XBackend || !ref.To.is("", kindSecret) {
		return nil
	}
	if _, granted := b.permits(c, kindXBackend, object.Namespace, ref.To); !granted {
		return nil
	}
	return []derive.Item[certificateUse]{{Key: ref.To.name(), Value: certificateUse{ref.To.name()}}}
}
