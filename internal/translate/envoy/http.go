package envoy

import (
	"time"

	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_listener_v3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	envoy_hcm_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// Limits of a client's connection. The first two are what Envoy's guide for
// edge proxies has; the header timeout ends clients that send headers by the
// byte. A stream without any traffic ends after Envoy's own 5 minutes.
const (
	maxStreams            = 100
	streamWindow          = 64 << 10
	connectionWindow      = 1 << 20
	headersTimeout        = 10 * time.Second
	streamIdleTimeout     = 5 * time.Minute
	connectionIdleTimeout = time.Hour
)

// http is the filter that serves HTTP from a route table.
func (b *listenerBuilder) http(id model.TableID, admits int) (*envoy_listener_v3.Filter, error) {
	if err := checkName("table", string(id)); err != nil {
		return nil, err
	}
	manager, err := connectionManager(string(id), b.settings, admits)
	if err != nil {
		return nil, err
	}
	if b.tracing != nil {
		if manager.Tracing, err = tracing(*b.tracing); err != nil {
			return nil, within("tracing", err)
		}
		b.uses = append(b.uses, xdsserve.Name{Type: xdsserve.Cluster, Name: string(b.tracing.Collector)})
	}
	var uses xdsserve.Name
	if table := b.table(id); table.Scoped {
		uses, err = byHost(manager, table)
	} else {
		uses = byTable(manager, id)
	}
	if err != nil {
		return nil, err
	}
	b.uses = append(b.uses, uses)
	return networkFilter("envoy.filters.network.http_connection_manager", manager)
}

// connectionManager has the settings that all HTTP listeners share; the
// package comment gives their reasons. It lacks where routes are looked up.
func connectionManager(name string, s model.Settings, admits int) (*envoy_hcm_v3.HttpConnectionManager, error) {
	filters, err := httpFilters(admits)
	if err != nil {
		return nil, err
	}
	logs, err := accessLogs(s, httpLogFields)
	if err != nil {
		return nil, err
	}
	return &envoy_hcm_v3.HttpConnectionManager{
		StatPrefix:                   name,
		HttpFilters:                  filters,
		UseRemoteAddress:             wrapperspb.Bool(true),
		NormalizePath:                wrapperspb.Bool(true),
		MergeSlashes:                 true,
		PathWithEscapedSlashesAction: envoy_hcm_v3.HttpConnectionManager_UNESCAPE_AND_REDIRECT,
		StripTrailingHostDot:         true,
		ServerHeaderTransformation:   envoy_hcm_v3.HttpConnectionManager_PASS_THROUGH,
		RequestHeadersTimeout:        durationpb.New(headersTimeout),
		StreamIdleTimeout:            durationpb.New(streamIdleTimeout),
		CommonHttpProtocolOptions: &envoy_core_v3.HttpProtocolOptions{
			IdleTimeout:                  durationpb.New(connectionIdleTimeout),
			HeadersWithUnderscoresAction: envoy_core_v3.HttpProtocolOptions_ALLOW,
		},
		Http2ProtocolOptions: &envoy_core_v3.Http2ProtocolOptions{
			MaxConcurrentStreams:        wrapperspb.UInt32(maxStreams),
			InitialStreamWindowSize:     wrapperspb.UInt32(streamWindow),
			InitialConnectionWindowSize: wrapperspb.UInt32(connectionWindow),
		},
		UpgradeConfigs: []*envoy_hcm_v3.HttpConnectionManager_UpgradeConfig{{UpgradeType: "websocket"}},
		AccessLog:      logs,
	}, nil
}

// fromADS is the stream on which everything else arrives too.
func fromADS() *envoy_core_v3.ConfigSource {
	return &envoy_core_v3.ConfigSource{
		ConfigSourceSpecifier: &envoy_core_v3.ConfigSource_Ads{Ads: &envoy_core_v3.AggregatedConfigSource{}},
		ResourceApiVersion:    envoy_core_v3.ApiVersion_V3,
	}
}
