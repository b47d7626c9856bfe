package v1alpha1

import (
	"slices"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Group and Version of this package's kinds.
const (
	Group   = "gatehouse.dev"
	Version = "v1alpha1"
)

// GatewayConfig holds data-plane settings. A GatewayClass refers to it by
// spec.parametersRef, a Gateway by spec.infrastructure.parametersRef, which wins
// field by field.
type GatewayConfig struct {
	meta_v1.TypeMeta   `json:",inline"`
	meta_v1.ObjectMeta `json:"metadata"`

	Spec GatewayConfigSpec `json:"spec"`
}

// GatewayConfigSpec are the settings; an absent field takes the default.
type GatewayConfigSpec struct {
	// Concurrency is the number of Envoy worker threads, 1 to 1024; absent means one per core.
	Concurrency *int32 `json:"concurrency,omitempty"`
	// LogLevel is Envoy's log level: trace, debug, info, warning, error, critical or off. Default warning.
	LogLevel *string `json:"logLevel,omitempty"`
	// AccessLog is where requests are logged.
	AccessLog *AccessLog `json:"accessLog,omitempty"`
	// Statistics are beginnings of names, at most 32: which of Envoy's statistics are
	// kept beside those that Gatehouse reads. Each costs memory and a slower start.
	Statistics []string `json:"statistics,omitempty"`
}

// AccessLog is where requests are logged.
type AccessLog struct {
	// Path is a file, or "-" for the proxy's standard output.
	Path string `json:"path"`
}

// DeepCopy returns a copy that shares nothing with in.
func (in *GatewayConfig) DeepCopy() *GatewayConfig {
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	if in.Spec.Concurrency != nil {
		out.Spec.Concurrency = new(*in.Spec.Concurrency)
	}
	if in.Spec.LogLevel != nil {
		out.Spec.LogLevel = new(*in.Spec.LogLevel)
	}
	if in.Spec.AccessLog != nil {
		out.Spec.AccessLog = new(*in.Spec.AccessLog)
	}
	out.Spec.Statistics = slices.Clone(in.Spec.Statistics)
	return &out
}
