package cluster

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	authentication_v1 "k8s.io/api/authentication/v1"
	core_v1 "k8s.io/api/core/v1"
	rbac_v1 "k8s.io/api/rbac/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Start starts a cluster that ends with the test.
func Start(tb testing.TB) *Cluster {
	tb.Helper()
	c, err := New(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	})
	return c
}

var shared struct {
	sync.Mutex
	*Cluster
	err error
}

// Shared is the one cluster of this test binary, which ends with it. Tests that use it
// take namespaces of their own, and leave its API server running.
func Shared(tb testing.TB) *Cluster {
	tb.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.Cluster == nil && shared.err == nil {
		shared.Cluster, shared.err = New(context.Background())
	}
	if shared.err != nil {
		tb.Fatal(shared.err)
	}
	return shared.Cluster
}

// EndShared ends the cluster of [Shared], if there is one: for a TestMain that looks
// for what tests left behind.
func EndShared() error {
	shared.Lock()
	defer shared.Unlock()
	if shared.Cluster == nil {
		return nil
	}
	c := shared.Cluster
	shared.Cluster = nil
	return c.Close()
}

// Config is that of an administrator, without limits of the client.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }

// Client is an administrator.
func (c *Cluster) Client() kubernetes.Interface { return c.client }

// AdminKubeconfig is the content of a kubeconfig for an administrator.
func (c *Cluster) AdminKubeconfig() []byte { return c.admin }

// Kubeconfig is the path of a file for an administrator; it goes with the test.
func (c *Cluster) Kubeconfig(tb testing.TB) string {
	tb.Helper()
	return write(tb, c.admin)
}

func write(tb testing.TB, content []byte) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// Namespace makes a namespace with a name that nobody else has, and returns when the
// controllers have put into it what each has. It is removed with the test, which does
// not wait for that.
func (c *Cluster) Namespace(tb testing.TB) string {
	tb.Helper()
	name := "test-" + strings.ToLower(rand.Text()[:12])
	ctx, cancel := context.WithTimeout(tb.Context(), startTime)
	defer cancel()
	namespaces := c.client.CoreV1().Namespaces()
	object := &core_v1.Namespace{Name: name}
	if _, err := namespaces.Create(ctx, object, meta_v1.CreateOptions{}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), removeTime)
		defer cancel()
		_ = namespaces.Delete(ctx, name, meta_v1.DeleteOptions{}) // it goes with the cluster otherwise
	})
	if err := c.await(ctx, func(ctx context.Context) error { return c.furnished(ctx, name) }); err != nil {
		tb.Fatalf("namespace %s is not complete: %v", name, err)
	}
	return name
}

// ServiceAccount makes an account in a namespace that may do what the rules say, in all
// namespaces, and nothing else. It returns the path of a kubeconfig for it.
func (c *Cluster) ServiceAccount(tb testing.TB, namespace, name string, rules ...rbac_v1.PolicyRule) string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), orderTime)
	defer cancel()
	account := &core_v1.ServiceAccount{Name: name}
	if _, err := c.client.CoreV1().ServiceAccounts(namespace).Create(ctx, account, meta_v1.CreateOptions{}); err != nil {
		tb.Fatal(err)
	}
	meta := meta_v1.ObjectMeta{Name: namespace + "-" + name}
	role := &rbac_v1.ClusterRole{ObjectMeta: meta, Rules: rules}
	if _, err := c.client.RbacV1().ClusterRoles().Create(ctx, role, meta_v1.CreateOptions{}); err != nil {
		tb.Fatal(err)
	}
	binding := &rbac_v1.ClusterRoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbac_v1.RoleRef{APIGroup: rbac_v1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		Subjects:   []rbac_v1.Subject{{Kind: rbac_v1.ServiceAccountKind, Namespace: namespace, Name: name}},
	}
	if _, err := c.client.RbacV1().ClusterRoleBindings().Create(ctx, binding, meta_v1.CreateOptions{}); err != nil {
		tb.Fatal(err)
	}
	return c.AccountKubeconfig(tb, namespace, name)
}

// AccountKubeconfig is the path of a kubeconfig for an account that exists, with its
// namespace as the default. It holds for an hour.
func (c *Cluster) AccountKubeconfig(tb testing.TB, namespace, name string) string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), orderTime)
	defer cancel()
	token, err := c.client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, &authentication_v1.TokenRequest{}, meta_v1.CreateOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	file, err := kubeconfig(c.server(), c.authority.pem, api.AuthInfo{Token: token.Status.Token}, namespace)
	if err != nil {
		tb.Fatal(err)
	}
	return write(tb, file)
}
