package xdsserve_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// envoy is a real Envoy that takes its configuration from a rig.
type envoy struct {
	t     testing.TB
	cmd   *exec.Cmd
	admin *http.Client
	log   string
	done  chan struct{}
}

func envoyBinary(t testing.TB) string {
	t.Helper()
	path := os.Getenv("GATEHOUSE_ENVOY")
	if path == "" {
		cache, err := os.UserCacheDir()
		must(t, err)
		path = filepath.Join(cache, "gatehouse", "envoy", "1.40.0", "envoy")
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("no Envoy: %v; get one with 'make envoy' or set GATEHOUSE_ENVOY", err)
	}
	return path
}

const bootstrap = `
node: {id: %[1]s, cluster: ` + group + `}
admin: {address: {pipe: {path: %[2]s}}}
dynamic_resources:
  ads_config:
    api_type: DELTA_GRPC
    transport_api_version: V3
    grpc_services: [{envoy_grpc: {cluster_name: xds}}]
  cds_config: {ads: {}, resource_api_version: V3}
  lds_config: {ads: {}, resource_api_version: V3}
static_resources:
  clusters:
  - name: xds
    type: STATIC
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {http2_protocol_options: {}}
    load_assignment:
      cluster_name: xds
      endpoints: [{lb_endpoints: [{endpoint: {address: {pipe: {path: %[3]s}}}}]}]
`

// startEnvoy starts an Envoy; the test ends it.
func startEnvoy(r *rig, id string) *envoy {
	t := r.t
	t.Helper()
	admin, config := filepath.Join(r.dir, id+".admin"), filepath.Join(r.dir, id+".yaml")
	must(t, os.WriteFile(config, fmt.Appendf(nil, r.bootstrap, id, admin, r.socket), 0o600))
	e := &envoy{t: t, log: filepath.Join(r.dir, id+".log"), done: make(chan struct{}), admin: pipeClient(admin)}
	e.cmd = exec.Command(envoyBinary(t), "-c", config, "--disable-hot-restart", "--concurrency", "1",
		"--drain-time-s", r.drain, "--drain-strategy", "immediate", "-l", "warning", "--log-path", e.log)
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(t, e.cmd.Start())
	go func() {
		_ = e.cmd.Wait()
		close(e.done)
	}()
	t.Cleanup(func() {
		e.kill()
		if t.Failed() {
			text, _ := os.ReadFile(e.log)
			t.Logf("log of envoy %s:\n%s", id, text)
		}
	})
	return e
}

// kill ends the process as kill -9 does and waits for it.
func (e *envoy) kill() {
	_ = e.cmd.Process.Kill()
	<-e.done
	e.admin.CloseIdleConnections()
}

func pipeClient(path string) *http.Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	return &http.Client{Transport: &http.Transport{DialContext: dial}, Timeout: 5 * time.Second}
}

// oneEnvoy is a rig with an Envoy that has what is published.
func oneEnvoy(t testing.TB, o xdsserve.Options, published ...xdsserve.Resource) (*rig, *envoy) {
	t.Helper()
	r := newRig(t, o)
	seq := r.Publish(xdsserve.Update{Set: published})
	e := startEnvoy(r, "envoy-0")
	r.settle(seq, 1)
	return r, e
}
