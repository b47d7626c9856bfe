package v1alpha1

import (
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AttributeValue is a value that leases select by.
//
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^([a-zA-Z0-9]([-_.a-zA-Z0-9]*[a-zA-Z0-9])?)?$`
type AttributeValue string

// TLS is how a proxy of scheme https is verified.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.insecureSkipVerify) && self.insecureSkipVerify) || !has(self.caSecretRef)",message="insecureSkipVerify verifies nothing, so caSecretRef has no use: remove one of them"
type TLS struct {
	// InsecureSkipVerify takes any certificate. Whoever is on the way can read the
	// credentials then.
	// +optional
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
	// ServerName is what the certificate must be for. Default the host or the address.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?([.][a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?)*$`
	// +optional
	ServerName string `json:"serverName,omitempty"`
	// CASecretRef names a Secret of the same namespace with the authority's certificates
	// in PEM, in ca.crt. Default those of the system.
	// +optional
	CASecretRef *LocalRef `json:"caSecretRef,omitempty"`
}

// Capacity bounds how many leases a proxy carries at once. 0 is any number.
type Capacity struct {
	// MaxLeases is for all targets together. Default 0.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000
	// +optional
	MaxLeases int32 `json:"maxLeases,omitempty"`
	// PerTarget is for each target. Default 0.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000
	// +optional
	PerTarget int32 `json:"perTarget,omitempty"`
}

// HealthCheck is how probes find out whether a proxy works: a GET of a URL through it.
//
// +kubebuilder:validation:XValidation:rule="!has(self.timeout) || duration(self.timeout) < duration(has(self.interval) ? self.interval : '30s')",message="timeout must be less than interval (30s by default)"
// +kubebuilder:validation:XValidation:rule="!(has(self.verifyEgressIP) && self.verifyEgressIP) || has(self.url)",message="verifyEgressIP needs a url that answers with the address that it sees"
type HealthCheck struct {
	// URL is asked through the proxy: http, or https through a tunnel. Default the one that
	// the operator is started with; without any, a probe only connects to the proxy.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://[^\s/?#@]+([/?][^\s#]*)?$`
	// +optional
	URL string `json:"url,omitempty"`
	// Interval is between the beginnings of probes: from 5s to 1h. Default 30s. Probes come
	// more often while the verdict is in doubt, and less often when a proxy is long dead.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('5s') && duration(self) <= duration('1h')",message="must be a duration from 5s to 1h, for example 30s"
	// +optional
	Interval *meta_v1.Duration `json:"interval,omitempty"`
	// Timeout bounds one probe, to the last byte: from 100ms to 1m, and less than interval.
	// Default 5s, and half of an interval below 10s.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('1m')",message="must be a duration from 100ms to 1m, for example 5s"
	// +optional
	Timeout *meta_v1.Duration `json:"timeout,omitempty"`
	// SuccessThreshold is how many good probes in a row make it healthy. Default 2.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	// +optional
	SuccessThreshold int32 `json:"successThreshold,omitempty"`
	// FailureThreshold is how many bad ones in a row make it unhealthy. Default 3.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	// +optional
	FailureThreshold int32 `json:"failureThreshold,omitempty"`
	// ExpectedStatus are the status codes that are good. Default 200 to 299.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	ExpectedStatus []StatusCode `json:"expectedStatus,omitempty"`
	// VerifyEgressIP says that url answers with nothing but the address that it sees, and
	// that it must be the proxy's: of an instance that has an external address, status.ip;
	// else the one that the first good probe sees, which then is status.egressIP. To let
	// another one be right, turn this off and on again.
	// +optional
	VerifyEgressIP bool `json:"verifyEgressIP,omitempty"`
}

// StatusCode is one of HTTP.
//
// +kubebuilder:validation:Minimum=200
// +kubebuilder:validation:Maximum=599
type StatusCode int32
