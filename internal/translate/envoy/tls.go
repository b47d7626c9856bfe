package envoy

import (
	"strconv"

	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_tls_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

const tlsSocket = "envoy.transport_sockets.tls"

// terminateTLS serves certificates that arrive by SDS, each with its own fate.
// Envoy picks among several by server name and key type. Protocols are those that
// clients can agree on; without any, what a client offers is not answered.
func terminateTLS(certificates []model.CertificateID, clients *model.ClientCheck, protocols ...string) (*envoy_core_v3.TransportSocket, []xdsserve.Name, error) {
	context := &envoy_tls_v3.DownstreamTlsContext{CommonTlsContext: &envoy_tls_v3.CommonTlsContext{
		TlsParams:     &envoy_tls_v3.TlsParameters{TlsMinimumProtocolVersion: envoy_tls_v3.TlsParameters_TLSv1_2},
		AlpnProtocols: protocols,
	}}
	var uses []xdsserve.Name
	taken := map[model.CertificateID]bool{}
	for i, id := range certificates {
		if err := checkName("certificates["+strconv.Itoa(i)+"]", string(id)); err != nil {
			return nil, nil, err
		}
		if taken[id] {
			continue
		}
		taken[id] = true
		uses = append(uses, xdsserve.Name{Type: xdsserve.Secret, Name: string(id)})
		context.CommonTlsContext.TlsCertificateSdsSecretConfigs = append(context.CommonTlsContext.TlsCertificateSdsSecretConfigs,
			&envoy_tls_v3.SdsSecretConfig{Name: string(id), SdsConfig: fromADS()})
	}
	if len(uses) == 0 {
		return nil, nil, faultf("certificates", "", "a TLS listener needs at least one certificate")
	}
	verifyClients(context, clients)
	socket, err := transportSocket(context)
	return socket, uses, err
}

// verifyClients asks clients for a certificate.
func verifyClients(context *envoy_tls_v3.DownstreamTlsContext, c *model.ClientCheck) {
	if c == nil {
		return
	}
	validation := &envoy_tls_v3.CertificateValidationContext{TrustedCa: inlineBytes(c.CA)}
	if c.Optional {
		validation.TrustChainVerification = envoy_tls_v3.CertificateValidationContext_ACCEPT_UNTRUSTED
	}
	context.RequireClientCertificate = wrapperspb.Bool(!c.Optional)
	context.CommonTlsContext.ValidationContextType = &envoy_tls_v3.CommonTlsContext_ValidationContext{ValidationContext: validation}
}

// originateTLS speaks TLS to a backend: the given authorities, or the system's,
// must have signed its certificate, and it must be for one of the given names, or
// for the one asked for.
func originateTLS(c model.Cluster, caFile string) (*envoy_core_v3.TransportSocket, error) {
	sni := c.TLS.SNI
	if !isIP(sni) {
		if err := checkHostname("tls.sni", sni, false); err != nil {
			return nil, err
		}
	}
	names, err := subjectNames(*c.TLS)
	if err != nil {
		return nil, err
	}
	authorities := &envoy_core_v3.DataSource{Specifier: &envoy_core_v3.DataSource_Filename{Filename: caFile}}
	if len(c.TLS.CA) > 0 {
		authorities = inlineBytes(c.TLS.CA)
	}
	context := &envoy_tls_v3.UpstreamTlsContext{CommonTlsContext: &envoy_tls_v3.CommonTlsContext{
		TlsParams:     upstreamVersions(),
		AlpnProtocols: upstreamALPN(c.Protocol),
		ValidationContextType: &envoy_tls_v3.CommonTlsContext_ValidationContext{ValidationContext: &envoy_tls_v3.CertificateValidationContext{
			TrustedCa: authorities, MatchTypedSubjectAltNames: names,
		}},
	}}
	if !isIP(sni) {
		context.Sni = sni
	}
	if id := string(c.ClientCertificate); id != "" {
		context.CommonTlsContext.TlsCertificateSdsSecretConfigs = []*envoy_tls_v3.SdsSecretConfig{{Name: id, SdsConfig: fromADS()}}
	}
	return transportSocket(context)
}

// subjectNames are the names of which a certificate must have one.
func subjectNames(t model.UpstreamTLS) ([]*envoy_tls_v3.SubjectAltNameMatcher, error) {
	if len(t.Names) == 0 {
		kind := envoy_tls_v3.SubjectAltNameMatcher_DNS
		if isIP(t.SNI) {
			kind = envoy_tls_v3.SubjectAltNameMatcher_IP_ADDRESS
		}
		return []*envoy_tls_v3.SubjectAltNameMatcher{{SanType: kind, Matcher: exactly(t.SNI)}}, nil
	}
	var out []*envoy_tls_v3.SubjectAltNameMatcher
	for i, name := range t.Names {
		field := "tls.names[" + strconv.Itoa(i) + "].value"
		kind, err := envoy_tls_v3.SubjectAltNameMatcher_URI, checkName(field, name.Value)
		if !name.URI {
			kind, err = envoy_tls_v3.SubjectAltNameMatcher_DNS, checkHostname(field, name.Value, true)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, &envoy_tls_v3.SubjectAltNameMatcher{SanType: kind, Matcher: exactly(name.Value)})
	}
	return out, nil
}

// upstreamVersions are those of TLS towards backends. Envoy by itself offers none
// above 1.2, and a backend that takes 1.3 only would refuse it.
func upstreamVersions() *envoy_tls_v3.TlsParameters {
	return &envoy_tls_v3.TlsParameters{
		TlsMinimumProtocolVersion: envoy_tls_v3.TlsParameters_TLSv1_2,
		TlsMaximumProtocolVersion: envoy_tls_v3.TlsParameters_TLSv1_3,
	}
}

// upstreamALPN are the protocols offered to a backend. Those of HTTP2 are left
// to Envoy, which offers h2 and http/1.1 where it chooses between them.
func upstreamALPN(p model.UpstreamProtocol) []string {
	if p == model.UpstreamHTTP1 || p == "" {
		return []string{"http/1.1"}
	}
	return nil
}

func transportSocket(context message) (*envoy_core_v3.TransportSocket, error) {
	config, err := pack(context)
	if err != nil {
		return nil, err
	}
	return &envoy_core_v3.TransportSocket{
		Name: tlsSocket, ConfigType: &envoy_core_v3.TransportSocket_TypedConfig{TypedConfig: config},
	}, nil
}
