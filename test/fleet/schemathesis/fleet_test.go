package schemathesis

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	egress "github.com/gatehouse-proxy/gatehouse/clients/go"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// fleetProxies is how many External proxies a real fleet has.
const fleetProxies = 20

// fleet runs "gatehouse fleet" over files, and returns the URL of its lease API once every
// proxy can be leased.
func fleet(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	binary, err := rig.Build(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	port, err := rig.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "config")
	if err := os.Mkdir(config, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(config, "fleet.yaml"), documents(accepting(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), binary, "fleet", "--config", config, "--state-dir", filepath.Join(dir, "state"),
		"--lease-address", address, "--admin-address", "127.0.0.1:0", "--metrics-address", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), "DISCOVERY_TOKEN="+token)
	run(t, cmd)
	leasable(t, "http://"+address)
	return "http://" + address
}

// run starts a command, and ends it with the test.
func run(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	said := new(rig.Output)
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Errorf("it ends with %v; it said:\n%s", err, said)
		}
	})
}

// accepting takes connections, as much of a proxy as a probe without a URL looks at.
func accepting(t *testing.T) *net.TCPAddr {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var ended sync.WaitGroup
	ended.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	})
	t.Cleanup(func() { _ = l.Close(); ended.Wait() })
	return l.Addr().(*net.TCPAddr) //nolint:forcetypeassert // of a listener of TCP
}

func documents(at *net.TCPAddr) []byte {
	var b bytes.Buffer
	b.WriteString("apiVersion: v1\nkind: Secret\nmetadata: {name: auth, namespace: crawl}\nstringData: {username: bob, password: secret}\n")
	for i := range fleetProxies {
		fmt.Fprintf(&b, `---
apiVersion: egress.gatehouse.dev/v1alpha1
kind: Proxy
metadata: {name: de-%d, namespace: crawl}
spec:
  mode: External
  endpoint: {host: %s, port: %d}
  attributes: {country: de}
  auth: {secretRef: {name: auth}}
  healthCheck: {interval: 5s, timeout: 4s, successThreshold: 1}
`, i, at.IP, at.Port)
	}
	return b.Bytes()
}

// leasable waits until every proxy can be leased.
func leasable(t *testing.T, url string) {
	t.Helper()
	client := &egress.Client{BaseURL: url, Token: token, Attempts: 1}
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-again.C {
		all, err := client.List(t.Context(), egress.Filter{Healthy: new(true)})
		if err == nil && len(all) == fleetProxies {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d proxies can be leased: %v", len(all), fleetProxies, err)
		}
	}
}
