package postgres_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	core_v1 "k8s.io/api/core/v1"
	rbac_v1 "k8s.io/api/rbac/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
	"github.com/gatehouse-proxy/gatehouse/test/cluster"
	pgtest "github.com/gatehouse-proxy/gatehouse/test/postgres"
)

// secretRules are what the manual says that a router needs for its Secret "router".
func secretRules() []rbac_v1.PolicyRule {
	return []rbac_v1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"router"}, Verbs: []string{"get", "list", "watch", "update"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create"}},
	}
}

// A Secret is the certificate, with servers from a static table too: the router waits for
// it, and follows it.
func TestCertificateFromSecret(t *testing.T) {
	c := cluster.Shared(t)
	namespace, server := c.Namespace(t), pgtest.Start(t, pgtest.Options{})
	router := pgtest.Route(t, "--static-backends=orders="+server.Address, "--kubeconfig="+c.ServiceAccount(t, namespace, "router", secretRules()...),
		"--namespace="+namespace, "--tls-secret-name=router", "--tls-auto-generate=false")
	want := "not ready: it waits for the certificate in Secret " + namespace + "/router: it does not exist; "
	comesTrue(t, "it says what it waits for", router, func() bool {
		status, body := router.Get(t, "/ready")
		return status == http.StatusServiceUnavailable && strings.HasPrefix(body, want)
	})
	if out, err := verified(t, router, "", "require"); err == nil {
		t.Errorf("without a certificate psql says %s", out)
	}
	for range 2 {
		authority, pair := issued(t)
		store(t, c, namespace, pair)
		router.Ready(t)
		comesTrue(t, "psql trusts it", router, func() bool {
			out, err := verified(t, router, authority, "verify-full")
			return err == nil && strings.TrimSpace(out) == "42"
		})
	}
	if log := router.Log.String(); strings.Contains(log, "PRIVATE") {
		t.Errorf("the log has a key: %s", log)
	}
}

// Replicas that find no Secret show the same certificate, which one of them made.
func TestCertificateMadeOnce(t *testing.T) {
	c := cluster.Shared(t)
	namespace := c.Namespace(t)
	flags := []string{
		"--static-backends=orders=127.0.0.1:1", "--kubeconfig=" + c.ServiceAccount(t, namespace, "router", secretRules()...),
		"--namespace=" + namespace, "--tls-secret-name=router", "--sni-suffix=db.example",
	}
	first, second := pgtest.Route(t, flags...), pgtest.Route(t, flags...)
	one, other := shown(t, first.Ready(t)), shown(t, second.Ready(t))
	if !bytes.Equal(one, other) {
		t.Error("they show different certificates")
	}
	if n := strings.Count(first.Log.String()+second.Log.String(), "certificate made"); n != 1 {
		t.Errorf("%d of them were made", n)
	}
}

// verified asks a router for 42 by psql, which trusts an authority, in PEM.
func verified(t *testing.T, router *pgtest.Router, authority, mode string) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "authority")
	if err := os.WriteFile(file, []byte(authority), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "psql", pgtest.DSN(router.Address, "postgres.orders", "sslmode="+mode+" sslrootcert="+file), "-Atc", "select 6 * 7").Output()
	return string(out), err
}

// issued is a new authority, in PEM, and a certificate of it.
func issued(t *testing.T) (authority string, pair tlsutil.Pair) {
	t.Helper()
	valid := tlsutil.From(time.Now().Add(-time.Hour), 100*24*time.Hour)
	ca, err := tlsutil.NewCA("an authority", valid)
	if err != nil {
		t.Fatal(err)
	}
	pair, err = ca.Leaf(valid, "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	return string(ca.Pair.Cert), pair
}

// store puts a pair into the Secret.
func store(t *testing.T, c *cluster.Cluster, namespace string, pair tlsutil.Pair) {
	t.Helper()
	secrets := c.Client().CoreV1().Secrets(namespace)
	secret := &core_v1.Secret{
		Name: "router", Type: core_v1.SecretTypeTLS,
		Data: map[string][]byte{core_v1.TLSCertKey: pair.Cert, core_v1.TLSPrivateKeyKey: pair.Key},
	}
	_, err := secrets.Update(t.Context(), secret, meta_v1.UpdateOptions{})
	if err != nil {
		_, err = secrets.Create(t.Context(), secret, meta_v1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// shown is the certificate that a router shows to direct TLS.
func shown(t *testing.T, router *pgtest.Router) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dialer := tls.Dialer{NetDialer: new(net.Dialer), Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"postgresql"}}}
	conn, err := dialer.DialContext(ctx, "tcp", router.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Raw
}

func comesTrue(t *testing.T, what string, router *pgtest.Router, condition func() bool) {
	t.Helper()
	for late := time.After(time.Minute); !condition(); {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-late:
			t.Fatalf("it never comes to that: %s; %s", what, router.Log)
		}
	}
}
