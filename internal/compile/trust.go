package compile

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"slices"
	"strings"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

const (
	certificatesGroup = "certificates.k8s.io"
	// authorityKey is where a ConfigMap has its authorities.
	authorityKey = "ca.crt"
)

// trust is how a backend is to be verified.
type trust struct {
	// TLS is nil where nothing can be verified as asked; then nothing is forwarded.
	TLS *model.UpstreamTLS
	// Unresolved is the first authority that cannot be used.
	Unresolved *problem
	// Invalid is why TLS is nil.
	Invalid *problem
	Uses    []string // objects by "Kind ns/name"
}

// readTrust reads how a backend is to be verified. Of several authorities every
// one must be usable: the specification wants connections to fail otherwise.
func (b *build) readTrust(c *derive.Ctx, field, namespace string, spec gateway_v1.BackendTLSPolicyValidation) trust {
	out := trust{}
	tls := &model.UpstreamTLS{SNI: strings.ToLower(string(spec.Hostname))}
	names, why := readNames(field+".subjectAltNames", spec.SubjectAltNames)
	tls.Names, out.Invalid = names, first(hostname(field+".hostname", tls.SNI, false), why)
	known := orElse(spec.WellKnownCACertificates, "")
	switch {
	case len(spec.CACertificateRefs) > 0 && known != "":
		out.Invalid = first(out.Invalid, problemf(verdict.UnsupportedValue, field, "caCertificateRefs and wellKnownCACertificates exclude each other"))
	case len(spec.CACertificateRefs) == 0 && known != gateway_v1.WellKnownCACertificatesSystem:
		out.Invalid = first(out.Invalid, problemf(verdict.UnsupportedValue, field+".wellKnownCACertificates", "%q: must be System, or caCertificateRefs must be set", known))
	}
	good := 0
	for i, ref := range spec.CACertificateRefs {
		to := target{string(ref.Group), string(ref.Kind), namespace, string(ref.Name)}
		pem, why := b.authorities(c, indexed(field+".caCertificateRefs", i), &to)
		out.Uses = append(out.Uses, to.String())
		if why != nil {
			out.Unresolved = first(out.Unresolved, why)
			continue
		}
		good++
		tls.CA = slices.Concat(tls.CA, pem)
	}
	if out.Unresolved != nil && good == 0 {
		out.Invalid = first(out.Invalid, problemf(verdict.NoValidCACertificate, out.Unresolved.Field, "no authority can be used: %s", out.Unresolved.Message).about(out.Unresolved.Related...))
	}
	if out.Invalid != nil {
		out.Invalid = closing(out.Invalid)
	}
	if out.Invalid == nil && out.Unresolved == nil {
		out.TLS = tls
	}
	return out
}

// closing makes an outcome of a failure: were the policy rejected, what it is for
// would be reached in clear.
func closing(why *problem) *problem {
	closed := *why
	closed.Reason.Class = verdict.OutcomeClass
	return &closed
}

// failure is why a backend cannot be verified, or nil.
func (t trust) failure() *problem { return first(t.Invalid, t.Unresolved) }

// authorities reads the certificates of authorities that a reference names.
func (b *build) authorities(c *derive.Ctx, field string, to *target) ([]byte, *problem) {
	var text string
	var presence derive.Presence
	switch {
	case to.is("", kindConfigMap):
		object, found := derive.Body(c, b.in.configMaps, to.name())
		if presence = found; found == derive.Present {
			text = object.Data[authorityKey]
		}
	case to.is(certificatesGroup, kindClusterTrustBundle):
		to.Namespace = ""
		object, found := derive.Body(c, b.in.bundles, to.Name)
		if presence = found; found == derive.Present {
			text = object.Spec.TrustBundle
		}
	default:
		return nil, problemf(verdict.InvalidKind, field, "%s of group %q has no authorities: use a ConfigMap or a ClusterTrustBundle", to.Kind, to.Group)
	}
	name := snapshot.NamespacedName(to.Namespace, to.Name)
	switch presence {
	case derive.Absent:
		return nil, problemf(verdict.InvalidCACertificateRef, field, "%s %s does not exist", to.Kind, name).about(to.key())
	case derive.Unread:
		return nil, problemf(verdict.InvalidCACertificateRef, field, "%s %s is being read", to.Kind, name).about(to.key())
	case derive.Present:
	}
	certificates, err := readAuthorities(text)
	if err != nil {
		return nil, problemf(verdict.InvalidCACertificateRef, field, "%s %s: %s", to.Kind, name, err).about(to.key())
	}
	return certificates, nil
}

// readAuthorities returns the certificates of a PEM text and nothing else of it.
func readAuthorities(text string) ([]byte, error) {
	var out []byte
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, errors.New(authorityKey + " must have nothing but certificates")
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return nil, errors.New("has a certificate that cannot be read: " + err.Error())
		}
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})...)
	}
	if len(out) == 0 {
		return nil, errors.New("has no PEM certificate in " + authorityKey)
	}
	return out, nil
}

func readNames(field string, specs []gateway_v1.SubjectAltName) ([]model.SubjectName, *problem) {
	var out []model.SubjectName
	for i, spec := range specs {
		switch {
		case spec.Type == gateway_v1.HostnameSubjectAltNameType && spec.Hostname != "":
			name := strings.ToLower(string(spec.Hostname))
			if why := hostname(indexed(field, i)+".hostname", name, true); why != nil {
				return nil, why
			}
			out = append(out, model.SubjectName{Value: name})
		case spec.Type == gateway_v1.URISubjectAltNameType && spec.URI != "":
			out = append(out, model.SubjectName{URI: true, Value: string(spec.URI)})
		default:
			return nil, problemf(verdict.UnsupportedValue, indexed(field, i), "%q: must be Hostname with hostname, or URI with uri", spec.Type)
		}
	}
	return out, nil
}
