package config

import (
	"strings"
	"testing"
)

func TestTLSPassthrough(t *testing.T) {
	got, err := router([]string{"STATIC_BACKENDS=orders=h:1,orders.pool=h:2,billing=h:3", "TLS_PASSTHROUGH=orders.pool, billing", "SNI_SUFFIX=db.example"})
	if err != nil {
		t.Fatal(err)
	}
	var passing []string
	for _, b := range got.Postgres.Backends {
		if b.Passthrough {
			passing = append(passing, b.Name())
		}
	}
	if strings.Join(passing, " ") != "orders.pool billing" {
		t.Errorf("TLS passes through to %q", passing)
	}
}

func TestTLSPassthroughErrors(t *testing.T) {
	for environ, want := range map[string]string{
		"TLS_PASSTHROUGH=orders":                         `$TLS_PASSTHROUGH: "orders" needs SNI_SUFFIX`,
		"TLS_PASSTHROUGH=orders.pool SNI_SUFFIX=example": `$TLS_PASSTHROUGH: "orders.pool" is no static backend; name those of STATIC_BACKENDS, such as orders`,
	} {
		if _, err := router(append(strings.Fields(environ), oneBackend)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", environ, err, want)
		}
	}
}
