package lifecycle

import (
	"fmt"
	"strings"

	core_v1 "k8s.io/api/core/v1"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/credential"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// Keys of the Secret that spec.auth names.
const (
	usernameKey = "username"
	passwordKey = "password"
	leaseKey    = "lease-key"
)

// credentials reads the Secret of spec.auth; all empty without.
func credentials(p *egress_v1alpha1.Proxy, secrets map[string]*core_v1.Secret) (provider.Credentials, error) {
	if p.Spec.Auth == nil {
		return provider.Credentials{}, nil
	}
	name := p.Spec.Auth.SecretRef.Name
	secret, err := named(p, name, "spec.auth.secretRef.name", secrets)
	if err != nil {
		return provider.Credentials{}, err
	}
	c := provider.Credentials{
		Username: string(secret.Data[usernameKey]), Password: string(secret.Data[passwordKey]),
		LeaseKey: secret.Data[leaseKey],
	}
	if e := p.Spec.Endpoint; e != nil && e.Scheme == egress_v1alpha1.HTTPS {
		c.TLSCert, c.TLSKey = secret.Data[core_v1.TLSCertKey], secret.Data[core_v1.TLSPrivateKeyKey]
	}
	if bad := unusable(c); bad != nil {
		bad.Secret = p.Namespace + "/" + name
		return provider.Credentials{}, bad
	}
	return c, nil
}

// unusable says what is wrong with credentials, never their value. A user name is at
// most 255 bytes for SOCKS (RFC 1929) and has no colon for HTTP (RFC 7617).
func unusable(c provider.Credentials) *InputError {
	switch {
	case c.Username == "" && len(c.LeaseKey) == 0:
		return &InputError{Key: usernameKey, Reason: "is missing or empty", Remedy: "add username and password, or lease-key"}
	case (c.Username == "") != (c.Password == ""):
		return &InputError{Key: passwordKey, Reason: "username and password come together, one is missing or empty", Remedy: "add the other"}
	case len(c.Username) > 255 || strings.ContainsAny(c.Username, ":\x00\r\n"):
		return &InputError{Key: usernameKey, Reason: "is longer than 255 bytes or has a colon, line break or NUL", Remedy: "choose another (a line break at its end counts too)"}
	case len(c.Password) > 255 || strings.ContainsAny(c.Password, "\x00\r\n"):
		return &InputError{Key: passwordKey, Reason: "is longer than 255 bytes or has a line break or NUL", Remedy: "choose another (a line break at its end counts too)"}
	case len(c.LeaseKey) > 0 && len(c.LeaseKey) < credential.MinKey:
		return &InputError{Key: leaseKey, Reason: fmt.Sprintf("has %d bytes, needs %d", len(c.LeaseKey), credential.MinKey), Remedy: "give random bytes"}
	case (len(c.TLSCert) == 0) != (len(c.TLSKey) == 0):
		return &InputError{Key: core_v1.TLSCertKey, Reason: "tls.crt and tls.key come together, one is missing or empty", Remedy: "add the other"}
	}
	return nil
}
