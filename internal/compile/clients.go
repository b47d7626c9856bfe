package compile

import (
	"slices"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/features"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// clientFeatures are the features of Gateway API that this file compiles.
var clientFeatures = featureNames{
	features.SupportGatewayBackendClientCertificate,
	features.SupportGatewayFrontendClientCertificateValidation,
	features.SupportGatewayFrontendClientCertificateValidationInsecureFallback,
}

// clientWish is how an HTTPS listener is to verify the certificates of clients.
type clientWish struct {
	Authorities []certificateRef
	// Optional lets clients in without a certificate, or with one that is not valid.
	Optional bool
}

// verifyClients reads what the Gateway wants of the clients of an HTTPS listener's
// port, whether the listener is its own or a ListenerSet's.
func (l *listener) verifyClients(tls *gateway_v1.FrontendTLSConfig) {
	if tls == nil || l.Protocol != model.HTTPS {
		return
	}
	namespace := namespaceOf(l.Gateway)
	field, validation := "spec.tls.frontend.default.validation", tls.Default.Validation
	for i, perPort := range tls.PerPort {
		if perPort.Port == gateway_v1.PortNumber(l.Port) {
			field, validation = indexed("spec.tls.frontend.perPort", i)+".tls.validation", perPort.TLS.Validation
		}
	}
	if validation == nil {
		return
	}
	l.Clients = &clientWish{Optional: validation.Mode == gateway_v1.AllowInsecureFallback}
	for i, ref := range validation.CACertificateRefs {
		l.Clients.Authorities = append(l.Clients.Authorities, certificateRef{
			Field: indexed(field+".caCertificateRefs", i),
			To: target{
				Group: string(ref.Group), Kind: string(ref.Kind),
				Namespace: string(orElse(ref.Namespace, gateway_v1.Namespace(namespace))), Name: string(ref.Name),
			},
		})
	}
}

// clients is what became of a listener's wish to verify clients.
type clients struct {
	Check *model.ClientCheck
	// Problem is the first authority that cannot be used, if any.
	Problem *problem
	// None is set when none can: the listener must not serve.
	None *problem
	Uses []string // objects and permissions that the good ones need
}

// verify judges each authority of a listener on its own. Fewer authorities let
// fewer clients in, so that those that can be used are.
func (b *build) verify(c *derive.Ctx, l listener) clients {
	if l.Clients == nil {
		return clients{}
	}
	out := clients{Check: &model.ClientCheck{Optional: l.Clients.Optional}}
	for _, ref := range l.Clients.Authorities {
		by, granted := "", true
		if ref.To.Kind != kindClusterTrustBundle {
			by, granted = b.permits(c, kindGateway, namespaceOf(l.Gateway), ref.To)
		}
		if !granted {
			out.Problem = first(out.Problem, notPermitted(ref.Field, kindGateway, namespaceOf(l.Gateway), ref.To))
			continue
		}
		pem, why := b.authorities(c, ref.Field, &ref.To)
		if why != nil {
			out.Problem = first(out.Problem, authorityProblem(why))
			continue
		}
		out.Check.CA = slices.Concat(out.Check.CA, pem)
		out.Uses = append(out.Uses, ref.To.String())
		if by != "" {
			out.Uses = append(out.Uses, by)
		}
	}
	if len(out.Check.CA) == 0 {
		why := first(out.Problem, problemf(verdict.InvalidCACertificateRef, "spec.tls.frontend", "no authority is named"))
		out.None = problemf(verdict.NoValidCACertificate, why.Field, "no client could be verified: %s", why.Message).about(why.Related...)
		out.Check = nil
	}
	if l.Set != "" {
		out.Problem, out.None = out.Problem.at(l.Gateway), out.None.at(l.Gateway)
	}
	return out
}

// at is a problem with a field of the Gateway, told of another object.
func (p *problem) at(g model.GatewayID) *problem {
	if p == nil {
		return nil
	}
	return problemf(p.Reason, "", "%s of Gateway %s: %s", p.Field, g, p.Message).
		about(gatewayRef(g)).about(p.Related...)
}

// authorityProblem is a problem in the words that Gateway API has for listeners.
func authorityProblem(p *problem) *problem {
	if p.Reason.Name != verdict.InvalidKind.Name {
		return p
	}
	same := *p
	same.Reason = verdict.InvalidCACertificateKind
	return &same
}

// backendCertificate is the certificate that a Gateway shows to backends.
func backendCertificate(object *gateway_v1.Gateway) *certificateRef {
	tls := object.Spec.TLS
	if tls == nil || tls.Backend == nil || tls.Backend.ClientCertificateRef == nil {
		return nil
	}
	return &certificateRef{Field: "spec.tls.backend.clientCertificateRef", To: secretTarget(*tls.Backend.ClientCertificateRef, object.Namespace)}
}

// present judges the certificate that the Gateway shows to backends. Without a
// usable one it shows none, and leaves it to backends to refuse.
func (b *build) present(c *derive.Ctx, s *served) {
	if s.gateway.ClientCertificate == nil {
		return
	}
	by, _, why := b.judge(c, s.referrer(), *s.gateway.ClientCertificate)
	if why != nil {
		s.Unpresented = clientProblem(why)
		return
	}
	s.Presents = model.CertificateID(s.gateway.ClientCertificate.To.name())
	if by != "" {
		s.Permissions = append(s.Permissions, by)
	}
}

// clientProblem is a problem with a certificate that a Gateway is to show to backends.
func clientProblem(why *problem) *problem {
	if why.Reason.Name != verdict.InvalidCertificateRef.Name {
		return why
	}
	same := *why
	same.Reason = verdict.InvalidClientCertificateRef
	return &same
}

// insecure tells whether some listener lets clients in that cannot be verified.
func (s served) insecure() bool {
	return slices.ContainsFunc(s.Listeners, func(l listener) bool { return l.Clients != nil && l.Clients.Optional })
}
