package pods

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	core_v1 "k8s.io/api/core/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/credential"
)

// target is a server in the cluster's network that says who asked.
const target = "10.98.7.1:8080"

func serveTarget(t *testing.T, f *fleet) {
	t.Helper()
	l, err := f.Listen(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.RemoteAddr[:strings.LastIndex(r.RemoteAddr, ":")])
	})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-served
	})
}

// curl asks the target through a proxy, from within the cluster's network.
func (f *fleet) curl(ctx context.Context, proxy string) (string, error) {
	var out []byte
	err := f.Inside(func() (err error) {
		cmd := exec.CommandContext(ctx, "curl", "--silent", "--show-error", "--fail", "--max-time", "20", "--proxy-insecure", "--proxy", proxy, "http://"+target+"/")
		cmd.Env = []string{"PATH=/usr/bin:/bin"}
		out, err = cmd.CombinedOutput()
		return err
	})
	return string(out), err
}

// through asks through a Proxy, and returns nil if it leaves at the address that its
// status has, as the one user that there is.
func (f *fleet) through(ctx context.Context, name, user, password string) error {
	p, err := f.read(ctx, name)
	if err != nil {
		return err
	}
	if p.Status.Phase != egress_v1alpha1.PhaseProvisioned || p.Status.IP == "" {
		return fmt.Errorf("%s at %q: %+v", p.Status.Phase, p.Status.IP, p.Status.Conditions)
	}
	scheme := string(p.Spec.Endpoint.Scheme)
	if scheme == "socks5" {
		scheme = "socks5h"
	}
	got, err := f.curl(ctx, fmt.Sprintf("%s://%s:%s@%s:3128", scheme, user, password, p.Status.IP))
	if err != nil || got != p.Status.IP {
		return fmt.Errorf("through %s of %s: %q, %w", scheme, p.Status.IP, got, err)
	}
	return nil
}

// TestFleet takes three Proxies through their lives.
func TestFleet(t *testing.T) {
	f := newFleet(t)
	serveTarget(t, f)
	f.put(t, auth(t, "first"))
	schemes := map[string]egress_v1alpha1.Scheme{"px-http": egress_v1alpha1.HTTP, "px-https": egress_v1alpha1.HTTPS, "px-socks": egress_v1alpha1.SOCKS5}
	for name, scheme := range schemes {
		f.proxy(t, name, scheme, nil)
	}
	for name := range schemes {
		until(t, name+" serves", func(ctx context.Context) error { return f.through(ctx, name, "alice", "first") })
	}
	t.Run("wrong credentials", func(t *testing.T) {
		if err := f.through(t.Context(), "px-http", "alice", "second"); err == nil || !strings.Contains(err.Error(), "407") {
			t.Errorf("with a wrong password: %v, want 407", err)
		}
	})
	t.Run("credentials of a lease", f.lease)
	t.Run("eviction", f.eviction)
	t.Run("new credentials", f.newCredentials)
	for name := range schemes {
		if err := f.Delete(t.Context(), &egress_v1alpha1.Proxy{Name: name, Namespace: f.ns}); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "nothing is left", f.nothing)
}

// lease: the key is delivered, and bound to the instance's name.
func (f *fleet) lease(t *testing.T) {
	p, err := f.read(t.Context(), "px-http")
	if err != nil {
		t.Fatal(err)
	}
	user, password := credential.Make(leaseKey, "px-"+string(p.UID), "lease-1", time.Now().Add(time.Hour))
	if err := f.through(t.Context(), "px-http", user, password); err != nil {
		t.Error(err)
	}
	if err := f.through(t.Context(), "px-https", user, password); err == nil {
		t.Error("credentials of one instance open another")
	}
}

// eviction: what a node has ended is made anew, at another address.
func (f *fleet) eviction(t *testing.T) {
	before, err := f.read(t.Context(), "px-socks")
	if err != nil {
		t.Fatal(err)
	}
	pods := f.Cluster.Client().CoreV1().Pods(f.ns)
	evicted := []byte(`{"status":{"phase":"Failed","reason":"Evicted","message":"The node was low on resource: memory."}}`)
	if _, err := pods.Patch(t.Context(), "px-"+string(before.UID), types.StrategicMergePatchType, evicted, meta_v1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	f.retry(t, "px-socks")
	until(t, "it is made anew", func(ctx context.Context) error {
		p, err := f.read(ctx, "px-socks")
		if err != nil || p.Status.ProviderID == before.Status.ProviderID || p.Status.IP == before.Status.IP {
			return fmt.Errorf("%s at %s: %w", p.Status.ProviderID, p.Status.IP, err)
		}
		return f.through(ctx, "px-socks", "alice", "first")
	})
}

// retry makes a Proxy due now, and not only when it is looked at again.
func (f *fleet) retry(t *testing.T, name string) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+egress_v1alpha1.RetryAnnotation+`":"`+rand.Text()+`"}}}`))
	if err := f.Patch(t.Context(), &egress_v1alpha1.Proxy{Name: name, Namespace: f.ns}, patch); err != nil {
		t.Fatal(err)
	}
}

// newCredentials: they are delivered by replacement.
func (f *fleet) newCredentials(t *testing.T) {
	next := auth(t, "second")
	next.Namespace = f.ns
	if err := f.Update(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"px-http", "px-https", "px-socks"} {
		until(t, name+" has them", func(ctx context.Context) error { return f.through(ctx, name, "alice", "second") })
	}
}

// nothing says what is left of the fleet.
func (f *fleet) nothing(ctx context.Context) error {
	proxies := new(egress_v1alpha1.ProxyList)
	if err := f.List(ctx, proxies, client.InNamespace(f.ns)); err != nil {
		return err
	}
	pods, err := f.listPods(ctx)
	if err != nil {
		return err
	}
	if len(proxies.Items)+len(pods)+f.pods.Running() > 0 {
		return fmt.Errorf("%d Proxies, %d pods, %d programs", len(proxies.Items), len(pods), f.pods.Running())
	}
	return nil
}

// TestWhyNot: what keeps a pod from running is said in the Proxy's status.
func TestWhyNot(t *testing.T) {
	f := newFleet(t, "a")
	f.proxy(t, "px-zone", egress_v1alpha1.HTTP, func(s *egress_v1alpha1.ProxySpec) { s.Zone = "b" })
	f.proxy(t, "px-open", egress_v1alpha1.HTTP, func(s *egress_v1alpha1.ProxySpec) { s.Auth = nil })
	f.put(t, auth(t, "first"))
	for name, want := range map[string]string{
		"px-zone": "no node takes the pod: Unschedulable: 0/1 nodes are available",
		"px-open": "spec.auth is missing, and everybody in the cluster could use the proxy",
	} {
		until(t, name+" says why not", func(ctx context.Context) error {
			p, err := f.read(ctx, name)
			if err != nil {
				return err
			}
			for _, c := range p.Status.Conditions {
				if c.Type == egress_v1alpha1.Provisioned && c.Status == meta_v1.ConditionFalse && strings.Contains(c.Message, want) {
					return nil
				}
			}
			return fmt.Errorf("%+v", p.Status.Conditions)
		})
	}
}

// leaseKey is the key of the credentials that leases get.
var leaseKey = []byte(strings.Repeat("k", credential.MinKey))

// auth is the Secret that the Proxies name.
func auth(t *testing.T, password string) *core_v1.Secret {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"proxy"}}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return &core_v1.Secret{Name: "px-auth", Data: map[string][]byte{
		"username": []byte("alice"), "password": []byte(password), "lease-key": leaseKey,
		core_v1.TLSCertKey:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		core_v1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}}
}
