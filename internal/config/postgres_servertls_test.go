package config

import (
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/servertls"
)

func TestServerTLS(t *testing.T) {
	ca := pemFile(t, "ca.crt")
	for _, c := range []struct {
		environ  string
		want     ServerTLS
		warnings string
	}{
		{"BACKEND_TLS=", ServerTLS{Mode: servertls.Disable}, ""},
		{"BACKEND_TLS=Verify-CA BACKEND_TLS_CA_FILE=" + ca, ServerTLS{Mode: servertls.VerifyCA, CAFile: ca}, ""},
		{"BACKEND_TLS=require BACKEND_TLS_CA_FILE=/x", ServerTLS{Mode: servertls.Require, CAFile: "/x"}, "$BACKEND_TLS_CA_FILE has no effect: BACKEND_TLS is require, which verifies nothing; use verify-full or verify-ca"},
		{"BACKEND_TLS_KEY_FILE=/x", ServerTLS{Mode: servertls.Disable, KeyFile: "/x"}, "$BACKEND_TLS_KEY_FILE has no effect: BACKEND_TLS is disable"},
	} {
		got, err := router(append(strings.Fields(c.environ), oneBackend))
		if err != nil || got.Postgres.ServerTLS != c.want || strings.Join(got.Warnings, "\n") != c.warnings {
			t.Errorf("%s: got %+v, %q, %v", c.environ, got.Postgres.ServerTLS, got.Warnings, err)
		}
	}
}

func TestServerTLSErrors(t *testing.T) {
	for environ, want := range map[string]string{
		"BACKEND_TLS=prefer":                                     `$BACKEND_TLS: "prefer" must be disable, require, verify-ca or verify-full`,
		"BACKEND_TLS=verify-full":                                `--backend-tls-ca-file or $BACKEND_TLS_CA_FILE: is missing: BACKEND_TLS is verify-full`,
		"BACKEND_TLS=require BACKEND_TLS_CERT_FILE=/dev/null":    `--backend-tls-key-file or $BACKEND_TLS_KEY_FILE: is missing`,
		"BACKEND_TLS=verify-ca BACKEND_TLS_CA_FILE=/nonexistent": `$BACKEND_TLS_CA_FILE: "/nonexistent" cannot be read: no such file`,
	} {
		if _, err := router(append(strings.Fields(environ), oneBackend)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", environ, err, want)
		}
	}
}
