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
func (l *listener) terminate(tls *gateway_v1.ListenerTLSConfig) {
	mode := gateway_v1.TLSModeTerminate
	if tls != nil {
		mode = orElse(tls.Mode, mode)
	}
	if l.Passthrough = l.Protocol == model.TLS && mode == gateway_v1.TLSModePassthrough; l.Passthrough {
		return
	}
	if mode != gateway_v1.TLSModeTerminate {
		l.Refused = first(l.Refused, problemf(verdict.UnsupportedValue, l.Field+".tls.mode", "%q: %s terminates TLS", mode, l.Protocol))
	}
	if tls == nil {
		return
	}
	for i, ref := range tls.CertificateRefs {
		l.Certificates = append(l.Certificates, certificateRef{
			Field: indexed(l.Field+".tls.certificateRefs", i), To: secretTarget(ref, l.referrer().Namespace),
		})
	}
}

// certificateUse is the permitted wish of a Gateway or a ListenerSet to serve with a Secret.
type certificateUse struct {
	Secret string
}

// certificateUses are the Secrets that a Gateway and its accepted listeners
// refer to and may. Only these are ever read.
func (b *build) certificateUses(c *derive.Ctx, _ string, g gateway) []derive.Item[certificateUse] {
	if !g.claims() {
		return nil
	}
	var refs []certificateRef
	if g.ClientCertificate != nil {
		refs = append(refs, *g.ClientCertificate)
	}
	return b.permittedUses(c, g.referrer(), append(refs, certificateRefs(g.Listeners)...))
}

// setCertificateUses are likewise those of a ListenerSet that attaches to its Gateway.
func (b *build) setCertificateUses(c *derive.Ctx, key string, set listenerSet) []derive.Item[certificateUse] {
	if at, _ := derive.Get(c, b.admissions, key); at.Problem != nil {
		return nil
	}
	return b.permittedUses(c, set.section.referrer(), certificateRefs(set.Listeners))
}

func certificateRefs(all []listener) []certificateRef {
	var refs []certificateRef
	for _, l := range all {
		if l.Refused == nil {
			refs = append(refs, l.Certificates...)
		}
	}
	return refs
}

func (b *build) permittedUses(c *derive.Ctx, from referrer, refs []certificateRef) []derive.Item[certificateUse] {
	var secrets []string
	for _, ref := range refs {
		if _, granted := b.permits(c, from.Kind, from.Namespace, ref.To); granted && ref.To.is("", kindSecret) {
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

// none is why there is no usable certificate, or nil.
func (c chosen) none() *problem {
	if len(c.Good) > 0 {
		return nil
	}
	return c.Problem
}

// choose judges each certificate of a listener on its own.
func (b *build) choose(c *derive.Ctx, l listener) chosen {
	var out chosen
	if len(l.Certificates) == 0 {
		out.Problem = problemf(verdict.InvalidCertificateRef, l.Field+".tls.certificateRefs", "listener %s has no certificate", l.Name)
	}
	for _, ref := range l.Certificates {
		by, expires, why := b.judge(c, l.referrer(), ref)
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

// judge decides over one certificate: the permission it needs and its end, or why not.
func (b *build) judge(c *derive.Ctx, from referrer, ref certificateRef) (by string, expires int64, why *problem) {
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
