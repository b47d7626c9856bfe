package chart

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	authentication_v1 "k8s.io/api/authentication/v1"
	core_v1 "k8s.io/api/core/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatehouse-proxy/gatehouse/test/cluster"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// account is where a pod finds its own.
const account = "/var/run/secrets/kubernetes.io/serviceaccount"

// pod is the container of the Deployment, run as a process in the cluster's network: with
// its arguments and variables, as its user without any capability, in a root that has the
// program, the volumes and the account, and that its user cannot write to.
type pod struct {
	cluster *cluster.Cluster
	cmd     *exec.Cmd
	log     rig.Output
	probe   string // URL of the readiness probe
}

// portOf is the number of a container's port.
func portOf(c core_v1.Container, name string) string {
	for _, p := range c.Ports {
		if p.Name == name {
			return strconv.Itoa(int(p.ContainerPort))
		}
	}
	return name
}

// start runs it until the test ends.
func start(t *testing.T, c *cluster.Cluster, namespace, name, binary string) *pod {
	t.Helper()
	d, err := c.Client().AppsV1().Deployments(namespace).Get(t.Context(), name, meta_v1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	spec := d.Spec.Template.Spec
	container, user := spec.Containers[0], spec.SecurityContext
	root := world(t, c, namespace, binary, spec)
	probe := container.ReadinessProbe.HTTPGet
	p := &pod{cluster: c, cmd: exec.Command("/gatehouse", container.Args...), probe: "http://127.0.0.1:" + portOf(container, probe.Port.String()) + probe.Path}
	p.cmd.Env, p.cmd.Dir = variables(c, namespace, container.Env), "/"
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{
		Chroot: root, Credential: &syscall.Credential{Uid: uint32(*user.RunAsUser), Gid: uint32(*user.RunAsGroup)}, Pdeathsig: syscall.SIGKILL,
	}
	if err := c.Inside(p.cmd.Start); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.end() })
	return p
}

// end kills it, once.
func (p *pod) end() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
}

func variables(c *cluster.Cluster, namespace string, all []core_v1.EnvVar) []string {
	host, port := c.InClusterAddress()
	out := []string{"KUBERNETES_SERVICE_HOST=" + host, "KUBERNETES_SERVICE_PORT=" + strconv.Itoa(port)}
	for _, v := range all {
		switch from := v.ValueFrom; {
		case from == nil:
		case from.SecretKeyRef != nil:
			v.Value = "of-" + from.SecretKeyRef.Name
		case from.FieldRef.FieldPath == "metadata.namespace":
			v.Value = namespace
		case from.FieldRef.FieldPath == "status.podIP":
			v.Value = "127.0.0.1"
		}
		out = append(out, v.Name+"="+v.Value)
	}
	return out
}

// world makes the root of a pod.
func world(t *testing.T, c *cluster.Cluster, namespace, binary string, spec core_v1.PodSpec) string {
	t.Helper()
	root, err := os.MkdirTemp("", "gatehouse-pod-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	put := func(path string, content []byte, mode os.FileMode) {
		t.Helper()
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	put("gatehouse", program, 0o755)
	core := c.Client().CoreV1()
	token, err := core.ServiceAccounts(namespace).CreateToken(t.Context(), spec.ServiceAccountName, &authentication_v1.TokenRequest{}, meta_v1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	put(account+"/token", []byte(token.Status.Token), 0o644)
	put(account+"/ca.crt", c.Config().CAData, 0o644)
	put(account+"/namespace", []byte(namespace), 0o644)
	for i, volume := range spec.Volumes {
		secret, err := core.Secrets(namespace).Get(t.Context(), volume.Secret.SecretName, meta_v1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range volume.Secret.Items {
			path := filepath.Join(spec.Containers[0].VolumeMounts[i].MountPath, item.Path)
			put(path, secret.Data[item.Key], os.FileMode(*volume.Secret.DefaultMode))
			if err := os.Chown(filepath.Join(root, path), 0, int(*spec.SecurityContext.FSGroup)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

// ready asks its readiness probe.
func (p *pod) ready(ctx context.Context) error {
	transport := &http.Transport{DialContext: p.cluster.Dial, DisableKeepAlives: true}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.probe, http.NoBody)
	if err != nil {
		return err
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("%w; it says:\n%s", err, p.log.String())
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %w; it says:\n%s", strings.TrimSpace(string(body)), err, p.log.String())
	}
	return nil
}
