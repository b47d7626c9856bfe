package config

import (
	"errors"

	"k8s.io/apimachinery/pkg/util/validation"
)

func setTLSMode(to *TLSMode, values []string) error {
	return synonym(to, values, map[string]TLSMode{
		"file": TLSFile, "filesystem": TLSFile, "memory": TLSMemory, "in-memory": TLSMemory,
		"secret": TLSSecret, "kubernetes": TLSSecret, "k8s": TLSSecret,
	}, "must be file, secret or memory")
}

func setSecretName(to *string, values []string) error {
	if len(values) == 0 {
		return nil
	}
	v, err := one(values)
	if err == nil && len(validation.IsDNS1123Subdomain(v)) > 0 {
		err = errors.New("must be the name of a Secret: lower-case letters, digits, - and .; its namespace is NAMESPACE")
	}
	*to = v
	return err
}

func (c *postgresCheck) detectTLSMode() TLSMode {
	switch {
	case c.TLS.CertFile != "" || c.TLS.KeyFile != "":
		return TLSFile
	case c.TLS.SecretName != "":
		return TLSSecret
	}
	return TLSMemory
}

func (c *postgresCheck) secretMode() bool { return c.TLS.Enabled && c.TLS.Mode == TLSSecret }

// certificate checks what TLS needs.
func (c *postgresCheck) certificate() {
	if !c.TLS.Enabled && c.TLS.Required {
		c.fail("tlsRequired", "true", "needs TLS, which TLS_ENABLED turns off; turn it on, or do not require it")
	}
	if c.TLS.Enabled && c.TLS.Mode == TLSMemory {
		c.inMemory()
	}
	c.certificateFile("tlsCertFile", c.TLS.CertFile)
	c.certificateFile("tlsKeyFile", c.TLS.KeyFile)
	switch {
	case c.secretMode() && c.TLS.SecretName == "":
		c.fail("tlsSecretName", "", "is missing: the mode of TLS is secret, which needs the name of one in namespace "+c.Kubernetes.Namespace)
	case !c.secretMode() && c.TLS.SecretName != "":
		c.warn("tlsSecretName", "has no effect: TLS is off, or its mode is not secret")
	}
}

func (c *postgresCheck) certificateFile(key, path string) {
	used := c.TLS.Enabled && c.TLS.Mode == TLSFile
	switch {
	case !used && path != "":
		c.warn(key, "has no effect: TLS is off, or its mode is not file")
	case !used:
	case path == "":
		c.fail(key, "", "is missing: the mode of TLS is file, which needs a certificate and its key")
	case c.src.Watch:
		if err := checkReadable(path); err != nil {
			c.fail(key, path, err.Error())
		}
	}
}

// inMemory refuses what would leave a router without a certificate.
func (c *postgresCheck) inMemory() {
	if !c.TLS.AutoGenerate {
		c.fail("tlsAutoGenerate", "false", "leaves no certificate: name TLS_CERT_FILE and TLS_KEY_FILE, or TLS_SECRET_NAME, or turn TLS off with TLS_ENABLED=false")
	}
	if !c.TLS.AutoRenew {
		c.fail("tlsAutoRenew", "false", "is not available: a certificate made in memory is always renewed; name TLS_CERT_FILE and TLS_KEY_FILE, or TLS_SECRET_NAME, to care for one yourself")
	}
}
