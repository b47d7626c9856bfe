package config

import (
	"strings"
	"testing"
)

func TestSecretSettings(t *testing.T) {
	file := pemFile(t, "kubeconfig")
	for _, c := range []struct {
		environ  string
		want     TLS
		warnings string
	}{
		{"TLS_SECRET_NAME=router", TLS{Mode: TLSSecret, SecretName: "router", AutoGenerate: true, AutoRenew: true}, ""},
		{"TLS_MODE=k8s TLS_SECRET_NAME=router TLS_AUTO_GENERATE=false", TLS{Mode: TLSSecret, SecretName: "router", AutoRenew: true}, ""},
		{"TLS_MODE=Kubernetes TLS_SECRET_NAME=a.b TLS_AUTO_RENEW=false", TLS{Mode: TLSSecret, SecretName: "a.b", AutoGenerate: true}, ""},
		{"TLS_MODE=secret TLS_SECRET_NAME=router KUBE_CONTEXT=prod KUBECONFIG=" + file, TLS{Mode: TLSSecret, SecretName: "router", AutoGenerate: true, AutoRenew: true}, ""},
		{"TLS_MODE=memory TLS_SECRET_NAME=router", TLS{Mode: TLSMemory, SecretName: "router", AutoGenerate: true, AutoRenew: true}, "$TLS_SECRET_NAME has no effect: TLS is off, or its mode is not secret"},
	} {
		got, err := router(append([]string{oneBackend}, strings.Fields(c.environ)...))
		if err != nil {
			t.Errorf("%s: %v", c.environ, err)
			continue
		}
		c.want.Enabled, c.want.RenewalThreshold = true, got.Postgres.TLS.RenewalThreshold
		if got.Postgres.TLS != c.want {
			t.Errorf("%s: got %+v, want %+v", c.environ, got.Postgres.TLS, c.want)
		}
		if all := strings.Join(got.Warnings, "\n"); all != c.warnings {
			t.Errorf("%s: warned of %q, want %q", c.environ, all, c.warnings)
		}
	}
}

func TestSecretErrors(t *testing.T) {
	for environ, want := range map[string]string{
		"TLS_MODE=secret NAMESPACE=db":                    "--tls-secret-name or $TLS_SECRET_NAME: is missing: the mode of TLS is secret, which needs the name of one in namespace db",
		"TLS_SECRET_NAME=shop/x":                          `$TLS_SECRET_NAME: "shop/x" must be the name of a Secret`,
		"TLS_SECRET_NAME=x KUBECONFIG=/nowhere":           `$KUBECONFIG: "/nowhere" does not exist`,
		"TLS_MODE=secret TLS_CERT_FILE=/x TLS_KEY_FILE=/": "--tls-secret-name or $TLS_SECRET_NAME: is missing",
	} {
		if _, err := router(append([]string{oneBackend}, strings.Fields(environ)...)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", environ, err, want)
		}
	}
}
