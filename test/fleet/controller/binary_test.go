package controller_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
	"github.com/gatehouse-proxy/gatehouse/test/cluster"
	"github.com/gatehouse-proxy/gatehouse/test/fleet/fakegce"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// programs is where the binary is, once there is one.
var programs string

// binary is the real program, built once for all tests.
var binary = sync.OnceValues(func() (path string, err error) {
	if programs, err = os.MkdirTemp("", "fleet-controller"); err != nil {
		return "", err
	}
	return rig.Build(context.Background(), programs)
})

// operator is "gatehouse fleet" as a process.
type operator struct {
	cmd   *exec.Cmd
	log   rig.Output
	ended chan struct{}
}

// start runs one over the lab's namespace, with machines of the cloud, until the test ends.
func (l lab) start(t *testing.T, cloud *httptest.Server, flags ...string) *operator {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	o := &operator{ended: make(chan struct{})}
	o.cmd = exec.Command(path, append([]string{
		"fleet", "--kubeconfig=" + l.Kubeconfig(t), "--namespace=" + l.ns, "--watch-namespaces=" + l.ns, "--gc-allow-namespaced",
		"--providers=gcp", "--gcp-project=test-project", "--gcp-endpoint=" + cloud.URL, "--lease-duration=3s",
		"--admin-address=127.0.0.1:0", "--metrics-address=127.0.0.1:0", "--lease-address=127.0.0.1:0",
	}, flags...)...)
	o.cmd.Stdout, o.cmd.Stderr = &o.log, &o.log
	o.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := o.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { defer close(o.ended); _ = o.cmd.Wait() }()
	t.Cleanup(func() {
		o.signal(t, syscall.SIGKILL)
		<-o.ended
		if t.Failed() {
			t.Logf("process %d said:\n%s", o.cmd.Process.Pid, o.log.String())
		}
	})
	return o
}

func (o *operator) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := o.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
}

// says tells how often a process has said something.
func (o *operator) says(text string, times int) func(context.Context) error {
	return func(context.Context) error {
		if n := strings.Count(o.log.String(), text); n < times {
			return fmt.Errorf("%q %d times, want %d", text, n, times)
		}
		return nil
	}
}

// machine is a Proxy of gcp.
func machine(name, zone, image string) *egress_v1alpha1.Proxy {
	return &egress_v1alpha1.Proxy{Name: name, Spec: egress_v1alpha1.ProxySpec{
		Mode: egress_v1alpha1.Managed, Provider: "gcp", Zone: zone, Image: image,
		CloudInit: &egress_v1alpha1.CloudInit{Inline: "#cloud-config"},
	}}
}

// provisioned tells whether Proxies have a running instance made of their spec.
func (l lab) provisioned(names ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, name := range names {
			p := new(egress_v1alpha1.Proxy)
			if err := l.Get(ctx, l.key(name), p); err != nil {
				return err
			}
			if !lifecycle.Serves(p) || p.Status.ObservedGeneration != p.Generation || !strings.Contains(p.Status.ProviderID, p.Spec.Zone) {
				return fmt.Errorf("%s is %s with %q: %v %v", name, p.Status.Phase, p.Status.ProviderID, p.Status.LastError, p.Status.Conditions)
			}
		}
		return nil
	}
}

// one tells whether each UID has one machine.
func one(cloud *fakegce.Cloud, want int) func(context.Context) error {
	return func(context.Context) error {
		live := make(map[string]int)
		for _, m := range cloud.Machines() {
			live[m.Labels[egress_v1alpha1.UIDLabel]]++
		}
		for uid, n := range live {
			if n != 1 {
				return fmt.Errorf("%s has %d machines", uid, n)
			}
		}
		if len(live) != want {
			return fmt.Errorf("%d Proxies have machines, want %d", len(live), want)
		}
		return nil
	}
}

// TestTwoProcesses: whichever way the one that leads goes, the other takes over, finishes
// what was begun, and no Proxy ever has two instances.
func TestTwoProcesses(t *testing.T) {
	l := newLab(t, cluster.Shared(t))
	cloud := fakegce.New(fakegce.Options{RunAfter: 200 * time.Millisecond, GoneAfter: 200 * time.Millisecond, Latency: 20 * time.Millisecond})
	server := httptest.NewServer(cloud)
	t.Cleanup(server.Close)
	names := []string{"a", "b", "c", "d"}
	first := l.start(t, server)
	until(t, "the first leads", first.says("msg=leading ", 1))
	second := l.start(t, server)
	until(t, "the second waits", second.says("another process leads", 1))
	for _, name := range names {
		l.create(t, machine(name, "europe-west1-b", "one"))
	}
	move := func(zone string) {
		t.Helper()
		for _, name := range names {
			if err := l.edit(t, name, func(p *egress_v1alpha1.Proxy) { p.Spec.Zone = zone }); err != nil {
				t.Fatal(err)
			}
		}
	}
	until(t, "the first asks for machines", func(context.Context) error { return atLeast(len(cloud.Machines()), 1) })

	first.signal(t, syscall.SIGTERM)
	<-first.ended
	until(t, "the second leads", second.says("msg=leading ", 1))
	until(t, "all run", l.provisioned(names...))
	until(t, "each has one machine", one(cloud, len(names)))

	third := l.start(t, server, "--max-unavailable=100%")
	until(t, "the third waits", third.says("another process leads", 1))
	move("europe-west1-c")
	second.signal(t, syscall.SIGKILL) // in the midst of it
	<-second.ended
	until(t, "the third leads", third.says("msg=leading ", 1))
	until(t, "all run elsewhere", l.provisioned(names...))

	fourth := l.start(t, server, "--max-unavailable=100%")
	until(t, "the fourth waits", fourth.says("another process leads", 1))
	third.signal(t, syscall.SIGSTOP) // it does not know that time goes by
	move("us-central1-a")
	until(t, "the fourth leads", fourth.says("msg=leading ", 1))
	third.signal(t, syscall.SIGCONT)
	until(t, "the third has noticed", third.says("leading no more", 1))
	until(t, "all run in America", l.provisioned(names...))
	until(t, "the third is still there, and waits", third.says("another process leads", 2))
	until(t, "each has one machine", one(cloud, len(names)))

	for _, name := range names {
		if err := l.Delete(t.Context(), l.in(machine(name, "", ""))); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "all are gone", func(ctx context.Context) error {
		var left egress_v1alpha1.ProxyList
		if err := l.List(ctx, &left, client.InNamespace(l.ns)); err != nil || len(left.Items) > 0 {
			return fmt.Errorf("%d are left, %w", len(left.Items), err)
		}
		return one(cloud, 0)(ctx)
	})
	if broken := cloud.Broken(); len(broken) > 0 {
		t.Errorf("what must never be was: %q", broken)
	}
	fourth.signal(t, syscall.SIGTERM)
	<-fourth.ended
	if code := fourth.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("it ended with %d", code)
	}
}
