package secret

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	core_v1 "k8s.io/api/core/v1"
	rbac_v1 "k8s.io/api/rbac/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typed_v1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/kubeapi"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/tlsstore"
	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
	"github.com/gatehouse-proxy/gatehouse/test/cluster"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := cluster.EndShared(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

const (
	object   = "router"
	day      = 24 * time.Hour
	patience = time.Minute
)

// rights are what a router needs: to create cannot be limited to a name.
func rights(verbs ...string) []rbac_v1.PolicyRule {
	rules := []rbac_v1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{object}, Verbs: []string{"get", "list", "watch"}}}
	for _, verb := range verbs {
		rule := rbac_v1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{verb}}
		if verb != "create" {
			rule.ResourceNames = []string{object}
		}
		rules = append(rules, rule)
	}
	return rules
}

// world is a namespace of a cluster and what a router in it has.
type world struct {
	cluster *cluster.Cluster
	secrets typed_v1.SecretInterface // as administrator
	Options
	config *rest.Config // as the router
}

func newWorld(t *testing.T, c *cluster.Cluster, verbs ...string) *world {
	t.Helper()
	namespace := c.Namespace(t)
	config, err := kubeapi.Connection{Kubeconfig: c.ServiceAccount(t, namespace, object, rights(verbs...)...)}.Config()
	if err != nil {
		t.Fatal(err)
	}
	return &world{
		cluster: c, secrets: c.Client().CoreV1().Secrets(namespace), config: config,
		Namespace: namespace, Object: object, Generate: true, Renew: true, Names: []string{"localhost", "*." + namespace + ".svc", "127.0.0.1"},
	}
}

// running is a store that keeps itself up to date until the test ends.
type running struct {
	*tlsstore.Store
	log *lines
}

func (w *world) run(t *testing.T, now func() time.Time) running {
	t.Helper()
	return start(t, must(New(w.config, w.Options))(t), now)
}

func start(t *testing.T, source *Source, now func() time.Time) running {
	t.Helper()
	r := running{log: new(lines)}
	r.Store = tlsstore.New(source, tlsstore.Options{Log: slog.New(slog.NewTextHandler(r.log, nil)), Now: now})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case <-done:
		case <-time.After(patience):
			t.Error("it does not end")
		}
	})
	return r
}

func (r running) serves(t *testing.T, fingerprint string) {
	t.Helper()
	r.until(t, "serves "+fingerprint, func() bool { return r.Status().Facts.Fingerprint == fingerprint })
}

func (r running) says(t *testing.T, text string) {
	t.Helper()
	r.until(t, "logs "+text, func() bool { return r.log.count(text) > 0 })
}

func (r running) until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	await(t, what, condition, r.log)
}

func await(t *testing.T, what string, condition func() bool, log fmt.Stringer) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(patience); !condition(); {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("it never %s: %s", what, log)
		}
	}
}

// put makes or replaces the Secret.
func (w *world) put(t *testing.T, pair tlsutil.Pair, annotations map[string]string) *core_v1.Secret {
	t.Helper()
	secret := &core_v1.Secret{
		Name: object, Annotations: annotations,
		Type: core_v1.SecretTypeTLS,
		Data: map[string][]byte{core_v1.TLSCertKey: pair.Cert, core_v1.TLSPrivateKeyKey: pair.Key},
	}
	if w.get(t) == nil {
		return must(w.secrets.Create(t.Context(), secret, meta_v1.CreateOptions{}))(t)
	}
	return must(w.secrets.Update(t.Context(), secret, meta_v1.UpdateOptions{}))(t)
}

// get returns the Secret, nil if there is none.
func (w *world) get(t *testing.T) *core_v1.Secret {
	t.Helper()
	all := must(w.secrets.List(t.Context(), meta_v1.ListOptions{}))(t)
	for _, secret := range all.Items {
		if secret.Name == object {
			return &secret
		}
	}
	return nil
}

func (w *world) remove(t *testing.T) {
	t.Helper()
	if err := w.secrets.Delete(t.Context(), object, meta_v1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// selfSigned is a certificate that is over after some days, signed one by an authority.
func selfSigned(t *testing.T, days int) tlsutil.Pair {
	t.Helper()
	return must(tlsutil.SelfSigned(tlsutil.From(time.Now().Add(-time.Hour), time.Duration(days)*day), "localhost"))(t)
}

func signed(t *testing.T, days int) tlsutil.Pair {
	t.Helper()
	valid := tlsutil.From(time.Now().Add(-time.Hour), time.Duration(days)*day)
	return must(must(tlsutil.NewCA("an authority", valid))(t).Leaf(valid, "localhost"))(t)
}

func fingerprint(t *testing.T, pair tlsutil.Pair) string {
	t.Helper()
	return must(tlsutil.Inspect(pair.Cert))(t).Fingerprint
}

// shake makes a handshake with a store whose certificate a client trusts by its PEM.
func (r running) shake(t *testing.T, trusted []byte, host string) error {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(trusted)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var both sync.WaitGroup
	defer both.Wait()
	here, there := pipe(t)
	both.Go(func() { _ = tls.Server(here, r.Config()).HandshakeContext(ctx) })
	return tls.Client(there, &tls.Config{RootCAs: pool, ServerName: host, NextProtos: []string{tlsstore.ALPN}}).HandshakeContext(ctx)
}

// lines is a log.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *lines) count(text string) int { return strings.Count(l.String(), text) }
