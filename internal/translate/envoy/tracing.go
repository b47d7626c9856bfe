package envoy

import (
	"strconv"
	"strings"

	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_trace_v3 "github.com/envoyproxy/go-control-plane/envoy/config/trace/v3"
	envoy_hcm_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	envoy_sampler_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/tracers/opentelemetry/samplers/v3"
	envoy_tag_v3 "github.com/envoyproxy/go-control-plane/envoy/type/tracing/v3"
	envoy_type_v3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// tracing tells a collector of requests. The sampler alone decides: no header of a
// client can have a request traced. A gateway is a hop of its own, so that it has a
// span for the request and one for each try at a backend.
func tracing(t model.Tracing) (*envoy_hcm_v3.HttpConnectionManager_Tracing, error) {
	if err := checkName("collector", string(t.Collector)); err != nil {
		return nil, err
	}
	tags, err := spanTags(t.Attributes)
	if err != nil {
		return nil, err
	}
	headers, err := exportHeaders(t.Headers)
	if err != nil {
		return nil, err
	}
	sampler, err := sampler(t)
	if err != nil {
		return nil, err
	}
	config, err := pack(&envoy_trace_v3.OpenTelemetryConfig{
		GrpcService: &envoy_core_v3.GrpcService{
			TargetSpecifier: &envoy_core_v3.GrpcService_EnvoyGrpc_{EnvoyGrpc: &envoy_core_v3.GrpcService_EnvoyGrpc{ClusterName: string(t.Collector)}},
			InitialMetadata: headers,
		},
		ServiceName: t.Service,
		Sampler:     sampler,
	})
	if err != nil {
		return nil, err
	}
	return &envoy_hcm_v3.HttpConnectionManager_Tracing{
		ClientSampling:    &envoy_type_v3.Percent{},
		CustomTags:        tags,
		Operation:         literal(t.Span),
		SpawnUpstreamSpan: wrapperspb.Bool(true),
		Provider: &envoy_trace_v3.Tracing_Http{
			Name: "envoy.tracers.opentelemetry", ConfigType: &envoy_trace_v3.Tracing_Http_TypedConfig{TypedConfig: config},
		},
	}, nil
}

// sampler decides by the trace's identity, which every hop decides alike by, or
// where the trace is another's, as that one did.
func sampler(t model.Tracing) (*envoy_core_v3.TypedExtensionConfig, error) {
	if t.Millionths > million {
		return nil, faultf("millionths", strconv.Itoa(int(t.Millionths)), "must be at most %d", million)
	}
	byIdentity, err := extension("envoy.tracers.opentelemetry.samplers.trace_id_ratio_based", &envoy_sampler_v3.TraceIdRatioBasedSamplerConfig{
		SamplingPercentage: &envoy_type_v3.FractionalPercent{Numerator: t.Millionths, Denominator: envoy_type_v3.FractionalPercent_MILLION},
	})
	if err != nil || !t.Parents {
		return byIdentity, err
	}
	return extension("envoy.tracers.opentelemetry.samplers.parent_based", &envoy_sampler_v3.ParentBasedSamplerConfig{WrappedSampler: byIdentity})
}

func exportHeaders(headers []model.Header) ([]*envoy_core_v3.HeaderValue, error) {
	var out []*envoy_core_v3.HeaderValue
	for i, h := range headers {
		at := "headers[" + strconv.Itoa(i) + "]"
		if err := checkEdited(at+".name", h.Name); err != nil {
			return nil, err
		}
		if err := checkHeaderValue(at+".value", h.Value); err != nil {
			return nil, err
		}
		if strings.Contains(h.Value, "%") { // Envoy reads it as a command, and sends it as it is
			return nil, faultf(at+".value", h.Value, "a header of exports cannot contain %%")
		}
		out = append(out, &envoy_core_v3.HeaderValue{Key: strings.ToLower(h.Name), Value: h.Value})
	}
	return out, nil
}

// spanTags are the attributes of spans. Those that are numbers to OpenTelemetry are
// numbers.
func spanTags(attributes []model.SpanAttribute) ([]*envoy_tag_v3.CustomTag, error) {
	var out []*envoy_tag_v3.CustomTag
	for i, a := range attributes {
		at := "attributes[" + strconv.Itoa(i) + "]"
		if err := checkName(at+".name", a.Name); err != nil {
			return nil, err
		}
		tag := &envoy_tag_v3.CustomTag{Tag: a.Name}
		if err := setTag(tag, at+".value", a); err != nil {
			return nil, err
		}
		out = append(out, tag)
	}
	return out, nil
}

func setTag(tag *envoy_tag_v3.CustomTag, field string, a model.SpanAttribute) error {
	switch header := model.HeaderOfAttribute(a.Value); {
	case a.Source == model.FromText:
		tag.Type = &envoy_tag_v3.CustomTag_Literal_{Literal: &envoy_tag_v3.CustomTag_Literal{Value: a.Value}}
		return checkName(field, a.Value)
	case a.Source == model.FromHeader:
		tag.Type = &envoy_tag_v3.CustomTag_Value{Value: `%COALESCE({"operators":[{"command":"REQ","param":"` + a.Value + `"},{"command":"RESP","param":"` + a.Value + `"}]})%`}
		return checkHeaderName(field, a.Value)
	case header != "" && strings.HasPrefix(a.Value, "http.request."):
		tag.Type = &envoy_tag_v3.CustomTag_Value{Value: "%REQ(" + header + ")%"}
		return checkHeaderName(field, header)
	case header != "":
		tag.Type = &envoy_tag_v3.CustomTag_Value{Value: "%RESP(" + header + ")%"}
		return checkHeaderName(field, header)
	}
	command, known := standardTags[a.Value]
	if a.Source != model.FromStandard || !known {
		return faultf(field, a.Value, "no attribute of requests")
	}
	tag.Type = &envoy_tag_v3.CustomTag_Value{Value: command}
	if strings.HasSuffix(a.Value, ".port") || a.Value == "http.response.status_code" {
		tag.ValueType = envoy_tag_v3.CustomTag_INT
	}
	return nil
}

// standardTags say what OpenTelemetry's attributes are in Envoy's words.
var standardTags = map[string]string{
	"client.address":               "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%",
	"client.port":                  "%DOWNSTREAM_REMOTE_PORT%",
	"http.request.method":          "%REQ(:METHOD)%",
	"http.request.method_original": "%REQ(:METHOD)%",
	"http.response.status_code":    "%RESPONSE_CODE%",
	"network.peer.address":         "%DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT%",
	"network.peer.port":            "%DOWNSTREAM_DIRECT_REMOTE_PORT%",
	"network.protocol.name":        "http",
	"network.protocol.version":     "%CEL(request.protocol == 'HTTP/1.1' ? '1.1' : request.protocol == 'HTTP/1.0' ? '1.0' : request.protocol == 'HTTP/2' ? '2' : '3')%",
	"network.transport":            "tcp",
	"network.type":                 "%CEL(source.address.startsWith('[') ? 'ipv6' : 'ipv4')%",
	"server.port":                  "%DOWNSTREAM_LOCAL_PORT%",
	"url.full":                     "%REQ(:SCHEME)%://%REQ(:AUTHORITY)%%REQ(:PATH)%",
	"url.path":                     "%CEL(request.url_path)%",
	"url.query":                    "%CEL(request.query)%",
	"url.scheme":                   "%REQ(:SCHEME)%",
	"user_agent.original":          "%REQ(USER-AGENT)%",
}
