package envoy

import (
	envoy_cluster_v3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_http_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

const httpOptions = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"

// speak sets the protocol towards the backend. HTTP2 over TLS is agreed by
// ALPN, so that a backend without it is served by HTTP/1.1; in clear there is
// nothing to agree by, and HTTP/2 is spoken from the first byte.
func speak(out *envoy_cluster_v3.Cluster, c model.Cluster) error {
	options := &envoy_http_v3.HttpProtocolOptions{}
	switch {
	case c.Protocol == model.UpstreamTCP, c.Protocol == model.UpstreamUDP:
		return nil
	case c.Protocol == model.UpstreamHTTP2 && c.TLS != nil:
		options.UpstreamProtocolOptions = &envoy_http_v3.HttpProtocolOptions_AutoConfig{
			AutoConfig: &envoy_http_v3.HttpProtocolOptions_AutoHttpConfig{},
		}
	case c.Protocol == model.UpstreamHTTP2:
		options.UpstreamProtocolOptions = explicit(&envoy_http_v3.HttpProtocolOptions_ExplicitHttpConfig{
			ProtocolConfig: &envoy_http_v3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
				Http2ProtocolOptions: &envoy_core_v3.Http2ProtocolOptions{},
			},
		})
	case c.Protocol == model.UpstreamHTTP1 || c.Protocol == "":
		options.UpstreamProtocolOptions = explicit(&envoy_http_v3.HttpProtocolOptions_ExplicitHttpConfig{
			ProtocolConfig: &envoy_http_v3.HttpProtocolOptions_ExplicitHttpConfig_HttpProtocolOptions{
				HttpProtocolOptions: &envoy_core_v3.Http1ProtocolOptions{},
			},
		})
	default:
		return faultf("protocol", string(c.Protocol), "unknown protocol: use HTTP1, HTTP2, TCP or UDP")
	}
	config, err := pack(options)
	out.TypedExtensionProtocolOptions = map[string]*anypb.Any{httpOptions: config}
	return err
}

func explicit(c *envoy_http_v3.HttpProtocolOptions_ExplicitHttpConfig) *envoy_http_v3.HttpProtocolOptions_ExplicitHttpConfig_ {
	return &envoy_http_v3.HttpProtocolOptions_ExplicitHttpConfig_{ExplicitHttpConfig: c}
}
