package v1alpha1

import (
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Proxy is one forward proxy: an instance that is created, replaced and deleted for
// it, or an endpoint that somebody else runs.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=px,categories=gatehouse
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="IP",type=string,JSONPath=`.status.ip`
// +kubebuilder:printcolumn:name="Latency",type=integer,JSONPath=`.status.latencyMillis`
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.spec.provider`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Proxy struct {
	meta_v1.TypeMeta   `json:",inline"`
	meta_v1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ProxySpec   `json:"spec"`
	Status ProxyStatus `json:"status,omitempty"`
}

// ProxyList is what the API server answers for many.
//
// +kubebuilder:object:root=true
type ProxyList struct {
	meta_v1.TypeMeta `json:",inline"`
	meta_v1.ListMeta `json:"metadata,omitempty"`

	Items []Proxy `json:"items"`
}

// Mode says who runs the proxy.
//
// +kubebuilder:validation:Enum=Managed;External
type Mode string

// Modes.
const (
	Managed  Mode = "Managed"
	External Mode = "External"
)

// ProxySpec is what is wanted. A field that its mode or provider has no use for is refused.
//
// +kubebuilder:validation:XValidation:rule="self.mode == oldSelf.mode",message="mode cannot change; delete the Proxy and create it anew"
// +kubebuilder:validation:XValidation:rule="has(self.provider) == has(oldSelf.provider) && (!has(self.provider) || self.provider == oldSelf.provider)",message="provider cannot change; delete the Proxy and create it anew"
// +kubebuilder:validation:XValidation:rule="self.mode != 'Managed' || has(self.provider)",message="provider is required with mode Managed: give gcp, hetzner, kubernetes or process"
// +kubebuilder:validation:XValidation:rule="self.mode != 'Managed' || !has(self.endpoint) || !has(self.endpoint.host)",message="endpoint.host is only for mode External; a managed proxy gets its address from the provider"
// +kubebuilder:validation:XValidation:rule="self.mode != 'External' || (has(self.endpoint) && has(self.endpoint.host))",message="endpoint.host is required with mode External"
// +kubebuilder:validation:XValidation:rule="self.mode != 'External' || !has(self.provider)",message="provider is only for mode Managed; remove it"
// +kubebuilder:validation:XValidation:rule="!(has(self.zone)) || (has(self.provider) && self.provider in ['gcp', 'hetzner', 'kubernetes'])",message="zone is only for providers gcp, hetzner and kubernetes; remove it"
// +kubebuilder:validation:XValidation:rule="!(has(self.machineType)) || (has(self.provider) && self.provider in ['gcp', 'hetzner'])",message="machineType is only for providers gcp and hetzner; remove it"
// +kubebuilder:validation:XValidation:rule="!(has(self.image)) || (has(self.provider) && self.provider in ['gcp', 'hetzner', 'kubernetes'])",message="image is only for providers gcp, hetzner and kubernetes; remove it"
// +kubebuilder:validation:XValidation:rule="!(has(self.spot) && self.spot) || (has(self.provider) && self.provider in ['gcp'])",message="spot is only for provider gcp; remove it"
// +kubebuilder:validation:XValidation:rule="!(has(self.network)) || (has(self.provider) && self.provider in ['gcp'])",message="network is only for provider gcp; remove it"
// +kubebuilder:validation:XValidation:rule="!(has(self.providerConfigRef)) || (has(self.provider) && self.provider in ['gcp', 'hetzner'])",message="providerConfigRef is only for providers gcp and hetzner; remove it"
// +kubebuilder:validation:XValidation:rule="!(has(self.cloudInit)) || (has(self.provider) && self.provider in ['gcp', 'hetzner'])",message="cloudInit is only for providers gcp and hetzner; remove it"
// +kubebuilder:validation:XValidation:rule="self.mode != 'External' || !has(self.lifecycle)",message="lifecycle is only for mode Managed; remove it"
// +kubebuilder:validation:XValidation:rule="!has(self.tls) || (has(self.endpoint) && has(self.endpoint.scheme) && self.endpoint.scheme == 'https')",message="tls is only for endpoint.scheme https; remove it"
// +kubebuilder:validation:XValidation:rule="!has(self.provider) || self.provider != 'gcp' || (has(self.zone) && self.zone.matches('^[a-z0-9]+-[a-z0-9]+-[a-z0-9]+$'))",message="provider gcp needs a zone such as europe-west1-b"
type ProxySpec struct {
	// Mode says who runs the proxy: Managed, from a provider, or External, somebody else.
	// It cannot change.
	Mode Mode `json:"mode"`
	// Provider creates the instance. It cannot change.
	// +kubebuilder:validation:Enum=gcp;hetzner;kubernetes;process
	// +optional
	Provider string `json:"provider,omitempty"`
	// Zone is where: a zone of gcp, a location of hetzner, a value of the node label
	// topology.kubernetes.io/zone for kubernetes. Not for process.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +optional
	Zone string `json:"zone,omitempty"`
	// MachineType is the provider's name of a size: e2-micro, cx23. For kubernetes and
	// process it has no meaning and is refused.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +optional
	MachineType string `json:"machineType,omitempty"`
	// Image is what the instance boots: an image or family of gcp, a name of hetzner, a
	// container image for kubernetes.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9\[]([-a-zA-Z0-9._/:@\[\]]*[a-zA-Z0-9])?$`
	// +optional
	Image string `json:"image,omitempty"`
	// Spot asks for an instance that the provider may take back at any time; only gcp.
	// +optional
	Spot bool `json:"spot,omitempty"`
	// Network says what the instance is attached to; only gcp.
	// +optional
	Network *Network `json:"network,omitempty"`
	// ProviderConfigRef names a Secret of the same namespace with the provider's
	// credentials and defaults; only gcp and hetzner.
	// +optional
	ProviderConfigRef *LocalRef `json:"providerConfigRef,omitempty"`
	// CloudInit is what the instance does at its first boot; gcp and hetzner. Without it,
	// gatehouse-forward is installed, with the credentials of auth.
	// +optional
	CloudInit *CloudInit `json:"cloudInit,omitempty"`
	// Endpoint is how the proxy is reached.
	// +optional
	Endpoint *Endpoint `json:"endpoint,omitempty"`
	// Auth is what clients authenticate with.
	// +optional
	Auth *Auth `json:"auth,omitempty"`
	// TLS is how a proxy of scheme https is verified, by probes and by those who lease it.
	// +optional
	TLS *TLS `json:"tls,omitempty"`
	// Attributes are what leases select by, with the syntax of labels: country: de.
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 63 && k.matches('^[a-zA-Z0-9]([-_.a-zA-Z0-9]*[a-zA-Z0-9])?$'))",message="keys must be 1 to 63 letters, digits, dashes, underscores and dots, and begin and end with a letter or digit"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !(k in ['session', 'target', 'ttl', 'ns']))",message="session, target, ttl and ns are what user names of the super-proxy say of a lease: choose another key"
	// +optional
	Attributes map[string]AttributeValue `json:"attributes,omitempty"`
	// Capacity bounds how many leases it carries at once.
	// +optional
	Capacity *Capacity `json:"capacity,omitempty"`
	// HealthCheck is how probes find out whether it works.
	// +optional
	HealthCheck *HealthCheck `json:"healthCheck,omitempty"`
	// Lifecycle bounds how long things may take.
	// +optional
	Lifecycle *Lifecycle `json:"lifecycle,omitempty"`
}

// Network is what an instance is attached to.
type Network struct {
	// Network and Subnetwork are names or partial URLs, as the provider takes them.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([-a-zA-Z0-9._/:]*[a-zA-Z0-9])?$`
	// +optional
	Network string `json:"network,omitempty"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([-a-zA-Z0-9._/:]*[a-zA-Z0-9])?$`
	// +optional
	Subnetwork string `json:"subnetwork,omitempty"`
	// ExternalIP says whether the instance gets an address of its own in the Internet. Default true.
	// Without one, its internal address is what clients connect to.
	// +optional
	ExternalIP *bool `json:"externalIP,omitempty"`
}

// LocalRef names an object of the same namespace.
type LocalRef struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`
}

// SecretKeyRef names a key of a Secret of the same namespace.
type SecretKeyRef struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`
	// Key in the Secret's data. Default user-data.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	// +optional
	Key string `json:"key,omitempty"`
}

// CloudInit is user data: from a Secret or inline.
//
// +kubebuilder:validation:XValidation:rule="has(self.secretRef) != has(self.inline)",message="give exactly one of secretRef and inline"
type CloudInit struct {
	// SecretRef is where credentials belong.
	// +optional
	SecretRef *SecretKeyRef `json:"secretRef,omitempty"`
	// Inline user data can be read by whoever reads the Proxy.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	// +optional
	Inline string `json:"inline,omitempty"`
}

// Scheme is the protocol spoken to the proxy.
//
// +kubebuilder:validation:Enum=http;https;socks5
type Scheme string

// Schemes.
const (
	HTTP   Scheme = "http"
	HTTPS  Scheme = "https"
	SOCKS5 Scheme = "socks5"
)

// DefaultPort is the port of a proxy whose spec gives none.
const DefaultPort = 3128

// Endpoint is how a proxy is reached.
type Endpoint struct {
	// Host is an address, an IPv6 one without brackets, or a DNS name; only, and always,
	// with mode External.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9.]+$') || self.contains(':') ? isIP(self) : self.matches('^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?([.][a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?)*[.]?$')",message="must be an IP address or a DNS name, without scheme, port or brackets"
	// +optional
	Host string `json:"host,omitempty"`
	// Port is 1 to 65535. Default 3128.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Port int32 `json:"port,omitempty"`
	// Scheme is http, https or socks5. Default http.
	// +optional
	Scheme Scheme `json:"scheme,omitempty"`
}

// Auth is what clients of a proxy authenticate with.
type Auth struct {
	// SecretRef names a Secret with username and password, and, for credentials that
	// each lease gets of its own, lease-key of at least 32 bytes. With scheme https it also
	// has tls.crt and tls.key, which the proxy shows to its clients.
	SecretRef LocalRef `json:"secretRef"`
}

// Lifecycle bounds how long things may take. A duration is text like 15m or 1h30m.
type Lifecycle struct {
	// MaxAge replaces an instance that is older: from 1m to 8760h; 0s or absent never does.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && (duration(self) == duration('0s') || (duration(self) >= duration('1m') && duration(self) <= duration('8760h')))",message="must be 0s, or a duration from 1m to 8760h, for example 24h"
	// +optional
	MaxAge *meta_v1.Duration `json:"maxAge,omitempty"`
	// DrainTimeout is how long a replacement waits for leases to end: from 0s to 24h.
	// Default 5m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) <= duration('24h')",message="must be a duration from 0s to 24h, for example 5m"
	// +optional
	DrainTimeout *meta_v1.Duration `json:"drainTimeout,omitempty"`
	// ProvisioningTimeout is how long an instance may take from the accepted create until
	// it runs, before it is made anew: from 10s to 24h. Default 15m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('10s') && duration(self) <= duration('24h')",message="must be a duration from 10s to 24h, for example 15m"
	// +optional
	ProvisioningTimeout *meta_v1.Duration `json:"provisioningTimeout,omitempty"`
	// ReplaceOnUnhealthyAfter replaces an instance whose probes have failed for so long,
	// unless most of the fleet fails: from 1m to 8760h; 0s or absent never does.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && (duration(self) == duration('0s') || (duration(self) >= duration('1m') && duration(self) <= duration('8760h')))",message="must be 0s, or a duration from 1m to 8760h, for example 30m"
	// +optional
	ReplaceOnUnhealthyAfter *meta_v1.Duration `json:"replaceOnUnhealthyAfter,omitempty"`
}

// ProxyStatus is what is known.
type ProxyStatus struct {
	// +optional
	Phase Phase `json:"phase,omitempty"`
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []meta_v1.Condition `json:"conditions,omitempty"`
	// Provider is who made the instance.
	// +optional
	Provider string `json:"provider,omitempty"`
	// ProviderID is the provider's own name of the instance, complete with its zone.
	// +optional
	ProviderID string `json:"providerID,omitempty"`
	// IP is where clients connect.
	// +optional
	IP string `json:"ip,omitempty"`
	// EgressIP is where targets see connections come from, once a probe with
	// verifyEgressIP has told.
	// +optional
	EgressIP string `json:"egressIP,omitempty"`
	// InstanceCreatedAt is when the provider accepted the create.
	// +optional
	InstanceCreatedAt *meta_v1.Time `json:"instanceCreatedAt,omitempty"`
	// Operation is the provider's name of the create under way, if it has one.
	// +optional
	Operation string `json:"operation,omitempty"`
	// Attempts counts the creates since an instance last ran.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// RetriedAt is the value of the annotation egress.gatehouse.dev/retry when the
	// permanent error was seen.
	// +optional
	RetriedAt string `json:"retriedAt,omitempty"`
	// LastError is what the provider last refused.
	// +optional
	LastError *LastError `json:"lastError,omitempty"`
	// LatencyMillis and LastHealthCheckTime are of the last probe that changed anything
	// here, not of the most recent one.
	// +optional
	LatencyMillis int64 `json:"latencyMillis,omitempty"`
	// +optional
	LastHealthCheckTime *meta_v1.Time `json:"lastHealthCheckTime,omitempty"`
}

// LastError is what a provider last refused.
type LastError struct {
	// Class is NotFound, QuotaExceeded, Permanent or Transient.
	Class string `json:"class"`
	// Message is one line without credentials.
	Message string `json:"message"`
	// Time is when it was first said.
	Time meta_v1.Time `json:"time"`
}
