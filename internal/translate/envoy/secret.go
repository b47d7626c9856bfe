package envoy

import (
	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_tls_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// translateCertificate makes the secret of one certificate and key.
func translateCertificate(c model.Certificate) Output {
	name := string(c.ID)
	if err := checkCertificate(c); err != nil {
		return failed(xdsserve.Secret, name, c.Origins, err)
	}
	return output(xdsserve.Secret, string(c.Gateway), name, secret(name, c.Chain, c.Key), nil, c.Origins)
}

func secret(name string, chain, key []byte) *envoy_tls_v3.Secret {
	return &envoy_tls_v3.Secret{Name: name, Type: &envoy_tls_v3.Secret_TlsCertificate{TlsCertificate: &envoy_tls_v3.TlsCertificate{
		CertificateChain: inlineBytes(chain),
		PrivateKey:       inlineBytes(key),
	}}}
}

// checkCertificate never puts any part of the pair into its error.
func checkCertificate(c model.Certificate) error {
	name := string(c.ID)
	if err := checkName("id", name); err != nil {
		return err
	}
	if err := tlsutil.CheckPair(c.Chain, c.Key); err != nil {
		return faultf("chain", name, "not a usable pair: %s; put a certificate and its own key into the Secret", err)
	}
	return nil
}

func inlineBytes(b []byte) *envoy_core_v3.DataSource {
	return &envoy_core_v3.DataSource{Specifier: &envoy_core_v3.DataSource_InlineBytes{InlineBytes: b}}
}
