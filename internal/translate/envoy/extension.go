package envoy

import (
	xds_core_v3 "github.com/cncf/xds/go/xds/core/v3"
	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_listener_v3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	envoy_hcm_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
)

// Envoy names its extensions, and has their configuration packed, in a message for
// each place where one can stand.

func extension(name string, m message) (*envoy_core_v3.TypedExtensionConfig, error) {
	config, err := pack(m)
	return &envoy_core_v3.TypedExtensionConfig{Name: name, TypedConfig: config}, err
}

// matcherExtension is an extension inside a generic matcher.
func matcherExtension(name string, m message) (*xds_core_v3.TypedExtensionConfig, error) {
	config, err := pack(m)
	return &xds_core_v3.TypedExtensionConfig{Name: name, TypedConfig: config}, err
}

func httpFilter(name string, m message) (*envoy_hcm_v3.HttpFilter, error) {
	config, err := pack(m)
	return &envoy_hcm_v3.HttpFilter{Name: name, ConfigType: &envoy_hcm_v3.HttpFilter_TypedConfig{TypedConfig: config}}, err
}

func networkFilter(name string, m message) (*envoy_listener_v3.Filter, error) {
	config, err := pack(m)
	return &envoy_listener_v3.Filter{Name: name, ConfigType: &envoy_listener_v3.Filter_TypedConfig{TypedConfig: config}}, err
}

func listenerFilter(name string, m message) (*envoy_listener_v3.ListenerFilter, error) {
	config, err := pack(m)
	return &envoy_listener_v3.ListenerFilter{Name: name, ConfigType: &envoy_listener_v3.ListenerFilter_TypedConfig{TypedConfig: config}}, err
}
