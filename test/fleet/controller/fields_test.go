package controller_test

// good are specs that both shells must take.
var good = map[string]string{
	"the least": "{mode: Managed, provider: process}",
	"pods":      "{mode: Managed, provider: kubernetes, zone: zone-a, image: 'registry.example:5000/forward@sha256:0123abcd', endpoint: {port: 3128, scheme: socks5}, auth: {secretRef: {name: px-auth}}}",
	"everything of gcp": `{mode: Managed, provider: gcp, zone: europe-west1-b, machineType: n2-custom-2-4096, image: projects/debian-cloud/global/images/family/debian-12, spot: true,
  network: {network: global/networks/default, subnetwork: regions/europe-west1/subnetworks/a, externalIP: false}, providerConfigRef: {name: gcp.default}, cloudInit: {secretRef: {name: init, key: user-data}},
  endpoint: {port: 1, scheme: https}, auth: {secretRef: {name: px-auth}}, lifecycle: {maxAge: 24h, drainTimeout: 0s, provisioningTimeout: 1h30m}}`,
	"hetzner":         "{mode: Managed, provider: hetzner, zone: fsn1, machineType: cx23, image: debian-12, cloudInit: {inline: '#cloud-config'}, lifecycle: {maxAge: 0s, provisioningTimeout: 10s}}",
	"no spot":         "{mode: Managed, provider: process, spot: false}",
	"an address":      "{mode: External, endpoint: {host: 192.0.2.1}}",
	"an IPv6 address": "{mode: External, endpoint: {host: '2001:db8::1', port: 65535, scheme: https}, auth: {secretRef: {name: a}}}",
	"a name":          "{mode: External, endpoint: {host: Proxy-1.example.org.}}",
}

// bad are specs that both shells must refuse: with the field and the words of a message.
var bad = []struct{ field, words, spec string }{
	{"spec.mode", "Required", "{provider: process}"},
	{"spec.mode", "Managed", "{mode: managed, provider: process}"},
	{"spec.mode", "must be of type string", "{mode: 1, provider: process}"},
	{"spec", "provider is required with mode Managed: give gcp, hetzner, kubernetes or process", "{mode: Managed}"},
	{"spec.provider", "process", "{mode: Managed, provider: aws}"},
	{"spec.provider", "", "{mode: Managed, provider: ''}"},
	{"spec", "provider is only for mode Managed", "{mode: External, provider: gcp, zone: europe-west1-b, endpoint: {host: a}}"},

	{"spec.zone", "should match", "{mode: Managed, provider: kubernetes, zone: 'Zone A'}"},
	{"spec.zone", "should match", "{mode: Managed, provider: kubernetes, zone: ''}"},
	{"spec.zone", "63", "{mode: Managed, provider: kubernetes, zone: a123456789a123456789a123456789a123456789a123456789a123456789abcd}"},
	{"spec", "zone is only for providers gcp, hetzner and kubernetes; remove it", "{mode: Managed, provider: process, zone: a}"},
	{"spec", "zone is only for", "{mode: External, endpoint: {host: a}, zone: a}"},
	{"spec", "provider gcp needs a zone such as europe-west1-b", "{mode: Managed, provider: gcp}"},
	{"spec", "provider gcp needs a zone such as europe-west1-b", "{mode: Managed, provider: gcp, zone: europe-west1}"},

	{"spec.machineType", "should match", "{mode: Managed, provider: gcp, zone: europe-west1-b, machineType: 'e2 micro'}"},
	{"spec.machineType", "63", "{mode: Managed, provider: hetzner, machineType: a123456789a123456789a123456789a123456789a123456789a123456789abcd}"},
	{"spec", "machineType is only for providers gcp and hetzner; remove it", "{mode: Managed, provider: kubernetes, machineType: big}"},

	{"spec.image", "", "{mode: Managed, provider: kubernetes, image: ''}"},
	{"spec.image", "should match", "{mode: Managed, provider: kubernetes, image: 'two words'}"},
	{"spec.image", "should match", "{mode: Managed, provider: gcp, zone: europe-west1-b, image: 'https://example.org/$(id)'}"},
	{"spec", "image is only for providers gcp, hetzner and kubernetes; remove it", "{mode: Managed, provider: process, image: debian}"},

	{"spec.spot", "must be of type boolean", "{mode: Managed, provider: gcp, zone: europe-west1-b, spot: 'yes'}"},
	{"spec", "spot is only for provider gcp; remove it", "{mode: Managed, provider: hetzner, spot: true}"},

	{"spec", "network is only for provider gcp; remove it", "{mode: Managed, provider: kubernetes, network: {}}"},
	{"spec.network.network", "should match", "{mode: Managed, provider: gcp, zone: europe-west1-b, network: {network: 'a b'}}"},
	{"spec.network.subnetwork", "should match", "{mode: Managed, provider: gcp, zone: europe-west1-b, network: {subnetwork: '-a'}}"},
	{"spec.network.subnetwork", "", "{mode: Managed, provider: gcp, zone: europe-west1-b, network: {subnetwork: ''}}"},
	{"spec.network.externalIP", "must be of type boolean", "{mode: Managed, provider: gcp, zone: europe-west1-b, network: {externalIP: 1}}"},

	{"spec.providerConfigRef.name", "Required", "{mode: Managed, provider: hetzner, providerConfigRef: {}}"},
	{"spec.providerConfigRef.name", "should match", "{mode: Managed, provider: hetzner, providerConfigRef: {name: Other/Secret}}"},
	{"spec", "providerConfigRef is only for providers gcp and hetzner; remove it", "{mode: Managed, provider: kubernetes, providerConfigRef: {name: a}}"},

	{"spec.cloudInit", "give exactly one of secretRef and inline", "{mode: Managed, provider: hetzner, cloudInit: {}}"},
	{"spec.cloudInit", "give exactly one of secretRef and inline", "{mode: Managed, provider: hetzner, cloudInit: {inline: a, secretRef: {name: a}}}"},
	{"spec.cloudInit.inline", "", "{mode: Managed, provider: hetzner, cloudInit: {inline: ''}}"},
	{"spec.cloudInit.secretRef.name", "Required", "{mode: Managed, provider: hetzner, cloudInit: {secretRef: {key: a}}}"},
	{"spec.cloudInit.secretRef.name", "should match", "{mode: Managed, provider: hetzner, cloudInit: {secretRef: {name: A}}}"},
	{"spec.cloudInit.secretRef.key", "should match", "{mode: Managed, provider: hetzner, cloudInit: {secretRef: {name: a, key: a/b}}}"},
	{"spec", "cloudInit is only for providers gcp and hetzner; remove it", "{mode: Managed, provider: process, cloudInit: {inline: a}}"},

	{"spec", "endpoint.host is required with mode External", "{mode: External}"},
	{"spec", "endpoint.host is required with mode External", "{mode: External, endpoint: {port: 1}}"},
	{"spec", "endpoint.host is only for mode External", "{mode: Managed, provider: process, endpoint: {host: 192.0.2.1}}"},
	{"spec.endpoint.host", "must be an IP address or a DNS name", "{mode: External, endpoint: {host: 'http://192.0.2.1'}}"},
	{"spec.endpoint.host", "must be an IP address or a DNS name", "{mode: External, endpoint: {host: '192.0.2.1:3128'}}"},
	{"spec.endpoint.host", "must be an IP address or a DNS name", "{mode: External, endpoint: {host: '[2001:db8::1]'}}"},
	{"spec.endpoint.host", "must be an IP address or a DNS name", "{mode: External, endpoint: {host: 192.0.2.256}}"},
	{"spec.endpoint.host", "must be an IP address or a DNS name", "{mode: External, endpoint: {host: -a.example}}"},
	{"spec.endpoint.host", "", "{mode: External, endpoint: {host: ''}}"},
	{"spec.endpoint.port", "greater than or equal to 1", "{mode: Managed, provider: process, endpoint: {port: 0}}"},
	{"spec.endpoint.port", "less than or equal to 65535", "{mode: Managed, provider: process, endpoint: {port: 65536}}"},
	{"spec.endpoint.port", "must be of type integer", "{mode: Managed, provider: process, endpoint: {port: http}}"},
	{"spec.endpoint.scheme", "socks5", "{mode: Managed, provider: process, endpoint: {scheme: socks4}}"},

	{"spec.auth.secretRef", "Required", "{mode: Managed, provider: process, auth: {}}"},
	{"spec.auth.secretRef.name", "Required", "{mode: Managed, provider: process, auth: {secretRef: {}}}"},
	{"spec.auth.secretRef.name", "", "{mode: Managed, provider: process, auth: {secretRef: {name: ''}}}"},
	{"spec.auth.secretRef.name", "should match", "{mode: Managed, provider: process, auth: {secretRef: {name: a_b}}}"},

	{"spec", "lifecycle is only for mode Managed", "{mode: External, endpoint: {host: a}, lifecycle: {drainTimeout: 1m}}"},
	{"spec.lifecycle.maxAge", "must be 0s, or a duration from 1m to 8760h", "{mode: Managed, provider: process, lifecycle: {maxAge: 59s}}"},
	{"spec.lifecycle.maxAge", "must be 0s, or a duration from 1m to 8760h", "{mode: Managed, provider: process, lifecycle: {maxAge: 8761h}}"},
	{"spec.lifecycle.maxAge", "must be 0s, or a duration from 1m to 8760h", "{mode: Managed, provider: process, lifecycle: {maxAge: -1h}}"},
	{"spec.lifecycle.maxAge", "must be 0s, or a duration from 1m to 8760h", "{mode: Managed, provider: process, lifecycle: {maxAge: 1d}}"},
	{"spec.lifecycle.maxAge", "must be of type string", "{mode: Managed, provider: process, lifecycle: {maxAge: 60}}"},
	{"spec.lifecycle.drainTimeout", "must be a duration from 0s to 24h", "{mode: Managed, provider: process, lifecycle: {drainTimeout: 25h}}"},
	{"spec.lifecycle.drainTimeout", "must be a duration from 0s to 24h", "{mode: Managed, provider: process, lifecycle: {drainTimeout: soon}}"},
	{"spec.lifecycle.drainTimeout", "", "{mode: Managed, provider: process, lifecycle: {drainTimeout: 999999h999999h999999h999999h}}"},
	{"spec.lifecycle.provisioningTimeout", "must be a duration from 10s to 24h", "{mode: Managed, provider: process, lifecycle: {provisioningTimeout: 0s}}"},
	{"spec.lifecycle.provisioningTimeout", "must be a duration from 10s to 24h", "{mode: Managed, provider: process, lifecycle: {provisioningTimeout: ''}}"},
	{"spec.lifecycle.provisioningTimeout", "must be a duration from 10s to 24h", "{mode: Managed, provider: process, lifecycle: {provisioningTimeout: 24h1m}}"},

	{"spec", "Required", ""},
	{"spec.password", "unknown field", "{mode: Managed, provider: process, password: secret}"},
	{"spec.endpoint.user", "unknown field", "{mode: External, endpoint: {host: a, user: me}}"},
}

// changes are edits that both shells must refuse.
var changes = []struct{ words, before, after string }{
	{"mode cannot change; delete the Proxy and create it anew", "{mode: Managed, provider: process}", "{mode: External, endpoint: {host: a}}"},
	{"mode cannot change", "{mode: External, endpoint: {host: a}}", "{mode: Managed, provider: process}"},
	{"provider cannot change; delete the Proxy and create it anew", "{mode: Managed, provider: process}", "{mode: Managed, provider: kubernetes}"},
}
