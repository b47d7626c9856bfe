package schema

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"

	certificates_v1beta1 "k8s.io/api/certificates/v1beta1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// trustBundleName allows the colons that a signer's name brings along; whether
// they fit spec.signerName is checked with the rest.
func trustBundleName(name string, prefix bool) []string {
	return validation.NameIsDNSSubdomain(strings.ReplaceAll(name, ":", "."), prefix)
}

func checkTrustBundle(b *certificates_v1beta1.ClusterTrustBundle) field.ErrorList {
	errs := checkSignerName(b)
	at := field.NewPath("spec", "trustBundle")
	rest, count := []byte(b.Spec.TrustBundle), 0
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		count++
		errs = append(errs, checkCertificate(at, block, count)...)
	}
	if len(bytes.TrimSpace([]byte(b.Spec.TrustBundle))) == 0 {
		return append(errs, field.Required(at, ""))
	}
	if count == 0 {
		errs = append(errs, field.Invalid(at, field.OmitValueType{}, "holds no PEM block"))
	}
	return errs
}

func checkCertificate(at *field.Path, block *pem.Block, number int) (errs field.ErrorList) {
	invalid := func(why string) field.ErrorList {
		return append(errs, field.Invalid(at, field.OmitValueType{}, fmt.Sprintf("PEM block %d %s", number, why)))
	}
	switch {
	case block.Type != "CERTIFICATE":
		return invalid(fmt.Sprintf("is of type %q; only CERTIFICATE is allowed", block.Type))
	case len(block.Headers) > 0:
		return invalid("has headers")
	}
	if _, err := x509.ParseCertificate(block.Bytes); err != nil {
		return invalid("is no certificate: " + err.Error())
	}
	return nil
}

func checkSignerName(b *certificates_v1beta1.ClusterTrustBundle) (errs field.ErrorList) {
	name, at := b.Name, field.NewPath("metadata", "name")
	if b.Spec.SignerName == "" {
		if strings.Contains(name, ":") {
			errs = append(errs, field.Invalid(at, name, "must not contain a colon unless spec.signerName is set"))
		}
		return errs
	}
	prefix := strings.ReplaceAll(b.Spec.SignerName, "/", ":") + ":"
	if !strings.HasPrefix(name, prefix) {
		errs = append(errs, field.Invalid(at, name, fmt.Sprintf("must start with %q, as spec.signerName demands", prefix)))
	}
	return errs
}
