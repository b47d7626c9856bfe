package config

import (
	"slices"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/servertls"
)

// ServerTLS is how the router speaks to servers. Files are absolute or relative to the
// working directory, and empty for none.
type ServerTLS struct {
	Mode                      servertls.Mode
	CAFile, CertFile, KeyFile string
}

func serverTLSTable(p *postgresGiven) []*setting {
	return []*setting{
		{Setting{
			Key: "backendTls", Value: "MODE", Default: "disable",
			Usage: "TLS to servers: disable, require, verify-ca, or verify-full, which wants the server's host in its certificate",
		}, func(v []string) error { return setServerTLS(&p.ServerTLS.Mode, v) }, false},
		{Setting{
			Key: "backendTlsCaFile", Value: "FILE",
			Usage: "authorities that servers are verified with, in PEM, read again when it changes",
		}, func(v []string) error { return setText(&p.ServerTLS.CAFile, v) }, true},
		{Setting{
			Key: "backendTlsCertFile", Value: "FILE",
			Usage: "the router's own certificate for servers that ask for one, in PEM, read again when it changes",
		}, func(v []string) error { return setText(&p.ServerTLS.CertFile, v) }, true},
		{Setting{
			Key: "backendTlsKeyFile", Value: "FILE",
			Usage: "its private key in PEM",
		}, func(v []string) error { return setText(&p.ServerTLS.KeyFile, v) }, true},
	}
}

func setServerTLS(to *servertls.Mode, values []string) error {
	return synonym(to, values, map[string]servertls.Mode{
		"disable": servertls.Disable, "require": servertls.Require, "verify-ca": servertls.VerifyCA, "verify-full": servertls.VerifyFull,
	}, "must be disable, require, verify-ca or verify-full")
}

// serverTLS checks what TLS to servers needs.
func (c *postgresCheck) serverTLS() {
	s := c.ServerTLS
	files := []struct {
		key, path string
		needed    bool
	}{
		{"backendTlsCaFile", s.CAFile, slices.Contains([]servertls.Mode{servertls.VerifyCA, servertls.VerifyFull}, s.Mode)},
		{"backendTlsCertFile", s.CertFile, s.KeyFile != "" && s.Mode != servertls.Disable},
		{"backendTlsKeyFile", s.KeyFile, s.CertFile != "" && s.Mode != servertls.Disable},
	}
	for i, f := range files {
		switch {
		case f.path == "" && f.needed && i == 0:
			c.fail(f.key, "", "is missing: BACKEND_TLS is "+string(s.Mode)+"; name the authorities that sign servers' certificates, or use require, which verifies nothing")
		case f.path == "" && f.needed:
			c.fail(f.key, "", "is missing: a certificate needs its key, and a key its certificate")
		case f.path == "":
		case s.Mode == servertls.Disable:
			c.warn(f.key, "has no effect: BACKEND_TLS is disable")
		case i == 0 && !f.needed:
			c.warn(f.key, "has no effect: BACKEND_TLS is require, which verifies nothing; use verify-full or verify-ca")
		case c.src.Watch:
			if err := checkReadable(f.path); err != nil {
				c.fail(f.key, f.path, err.Error())
			}
		}
	}
}
