package compile

import (
	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// certificateRef is one certificate that a listener asks for.
type certificateRef struct {
	Field string
	To    target
}

// terminate reads what an HTTPS or TLS listener needs to terminate TLS.
func (l *listener) terminate(spec gateway_v1.Listener, object *gateway_v1.Gateway) {
	mode := gateway_v1.TLSModeTerminate
	if spec.TLS != nil {
		mode = orElse(spec.TLS.Mode, mode)
	}
	if l.Passthrough = l.Protocol == model.TLS && mode == gateway_v1.TLSModePassthrough; l.Passthrough {
		return
	}
	if tls := object.Spec.TLS; tls != nil && tls.Frontend != nil && l.Protocol == model.HTTPS {
		l.verifyClients(*tls.Frontend, object.Namespace)
	}
	if mode != gateway_v1.TLSModeTerminate {
		l.Refused = first(l.Refused, problemf(verdict.UnsupportedValue, l.Field+".tls.mode", "%q: %s terminates TLS", mode, l.Protocol))
	}
	if spec.TLS == nil {
		return
	}
	for i, ref := range spec.TLS.CertificateRefs {
		l.Certificates = append(l.Certificates, certificateRef{
			Field: indexed(l.Field+".tls.certificateRefs", i), To: secretTarget(ref, object.Namespace),
		})
	}
}

// certificateUse is a Gateway's permitted wish to serve with a Secret.
type certificateUse struct {
	Secret string
}

// certificateUses are the Secrets that a Gateway and its accepted listeners
// refer to and may. Only these are ever read.
func (b *build) certificateUses(c *derive.Ctx, _ string, g gateway) []derive.Item[certificateUse] {
	if !g.claims() {
		return nil
	}
	namespace := namespaceOf(g.ID)
	var refs []certificateRef
	if g.ClientCertificate != nil {
		refs = append(refs, *g.ClientCertificate)
	}
	for _, l := range g.Listeners {
		if l.Accepted {
			refs = append(refs, l.Certificates...)
		}
	}
	var secrets []string
	for _, ref := range refs {
		if _, granted := b.permits(c, kindGateway, namespace, ref.To); granted && ref.To.is("", kindSecret) {
			secrets = append(secrets, ref.To.name())
		}
	}
	var items []derive.Item[certificateUse]
	for _, secret := range distinct(secrets) {
		items = append(items, derive.Item[certificateUse]{Key: secret, Value: certificateUse{secret}})
	}
	return items
}

// chosen is what became of the certificates of one listener.
type chosen struct {
	Good []model.CertificateID
	// Problem is the first certificate that cannot be used, if any.
	Problem *problem
	// Expires is the first end of validity, in seconds since 1970; 0 without one.
	Expires     int64
	Permissions []string // that the good ones need
}

// choose judges each certificate of a listener on its own.
func (b *build) choose(c *derive.Ctx, l listener) chosen {
	var out chosen
	if len(l.Certificates) == 0 {
		out.Problem = problemf(verdict.InvalidCertificateRef, l.Field+".tls.certificateRefs", "listener %s has no certificate", l.Name)
	}
	for _, ref := range l.Certificates {
		by, expires, why := b.judge(c, l.Gateway, ref)
		if why != nil {
			out.Problem = first(out.Problem, why)
			continue
		}
		out.Good = append(out.Good, model.CertificateID(ref.To.name()))
		if by != "" {
			out.Permissions = append(out.Permissions, by)
		}
		if out.Expires == 0 || expires < out.Expires {
			out.Expires = expires
		}
	}
	out.Good = inOrderOnce(out.Good)
	return out
}

// judge decides over one certificate of a Gateway.
func (b *build) judge(c *derive.Ctx, g model.GatewayID, ref certificateRef) (by string, expires int64, why *problem) {
	return b.judgeFor(c, referrer{Kind: kindGateway, Namespace: namespaceOf(g)}, ref)
}

// judgeFor decides over one certificate: the permission it needs and its end, or why not.
func (b *build) judgeFor(c *derive.Ctx, from referrer, ref certificateRef) (by string, expires int64, why *problem) {
	if !ref.To.is("", kindSecret) {
		return "", 0, problemf(verdict.InvalidCertificateRef, ref.Field, "%s of group %q is no Secret", ref.To.Kind, ref.To.Group)
	}
	by, granted := b.permits(c, from.Kind, from.Namespace, ref.To)
	if !granted {
		return "", 0, notPermitted(ref.Field, from.Kind, from.Namespace, ref.To)
	}
	at, _ := derive.Get(c, b.pairStates, ref.To.name())
	if at.Cause != "" {
		return "", 0, problemf(verdict.InvalidCertificateRef, ref.Field, "Secret %s %s", ref.To.name(), at.Cause).about(ref.To.key())
	}
	return by, at.Expires, nil
}
