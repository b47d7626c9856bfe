package kill_test

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider/gcp"
	"github.com/gatehouse-proxy/gatehouse/test/fleet/fakegce"
)

const project = "test-project"

// gceWorld is a cloud in another process, met by the client that meets the real one.
type gceWorld struct {
	fakegce.Control
	clock  *clock
	faults map[trouble]int
}

// cloudProgram is built once.
var cloudProgram = sync.OnceValues(func() (string, error) {
	path := filepath.Join(programs, "fakegce")
	out, err := exec.Command("go", "build", "-o", path, "github.com/gatehouse-proxy/gatehouse/test/fleet/fakegce/cmd").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build fakegce: %w\n%s", err, out)
	}
	return path, nil
})

// startCloud starts one that ends with the test: instances take 7 s to run, and 7 s to go.
func startCloud(t *testing.T) string {
	t.Helper()
	program, err := cloudProgram()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-stage-after=2s", "-run-after=6s", "-address-after=1s", "-gone-after=7s")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGTERM); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("fakegce does not say where it listens: %v", err)
	}
	return strings.TrimSpace(line)
}

// newGCEWorld empties the cloud at url.
func newGCEWorld(t *testing.T, url string, c *clock) *gceWorld {
	t.Helper()
	w := &gceWorld{fakegce.Control{URL: url}, c, map[trouble]int{}}
	for _, m := range w.machines(t) {
		w.must(t, w.Remove(t.Context(), at(m)))
	}
	t.Cleanup(func() {
		for f := range maps.Clone(w.faults) {
			w.end(t, f)
		}
		broken, err := w.Broken(context.WithoutCancel(t.Context()))
		w.must(t, err)
		for _, b := range broken {
			t.Error(b)
		}
	})
	return w
}

// hurry has nothing take time.
func (w *gceWorld) hurry(t *testing.T) {
	t.Helper()
	w.must(t, w.Set(t.Context(), map[string]any{"StageAfter": 0, "RunAfter": 0, "AddressAfter": 0, "GoneAfter": 0}))
}

func at(m fakegce.Machine) string {
	return "projects/" + m.Project + "/zones/" + m.Zone + "/instances/" + m.Name
}

func (w *gceWorld) must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *gceWorld) provider(_ *testing.T, cluster string) provider.Provider {
	return gcp.New(gcp.Options{Project: project, Cluster: cluster, Endpoint: w.URL, ReadOperations: true, Now: w.clock.now})
}

func (w *gceWorld) name() string { return "gcp" }
func (w *gceWorld) zones() []string {
	return []string{"europe-west1-b", "europe-west1-c", "us-central1-a"}
}
func (w *gceWorld) spec() egress_v1alpha1.ProxySpec { return machine(w.zones()[0]) }

func (w *gceWorld) passes(t *testing.T, d time.Duration) {
	t.Helper()
	w.must(t, w.Advance(t.Context(), d))
}

func (w *gceWorld) machines(t *testing.T) []fakegce.Machine {
	t.Helper()
	all, err := w.Machines(t.Context())
	w.must(t, err)
	return all
}

var states = map[string]provider.State{
	"PROVISIONING": provider.Provisioning, "STAGING": provider.Provisioning, "RUNNING": provider.Running,
	"STOPPING": provider.Terminating, "TERMINATED": provider.Stopped,
}

func (w *gceWorld) instances(t *testing.T, cluster string) (all []provider.Instance) {
	t.Helper()
	for _, m := range w.machines(t) {
		if m.Labels[egress_v1alpha1.ClusterLabel] == cluster {
			all = append(all, provider.Instance{
				ID: at(m), Name: m.Name, Cluster: cluster,
				UID: m.Labels[egress_v1alpha1.UIDLabel], Hash: m.Labels[egress_v1alpha1.HashLabel], State: states[m.Status],
			})
		}
	}
	return all
}

func (w *gceWorld) troubles() []trouble { return []trouble{quotaLater, forbids, stops, vanishes} }

func (w *gceWorld) begin(t *testing.T, f trouble, on string) {
	t.Helper()
	var err error
	switch f {
	case quotaLater:
		w.faults[f], err = w.Add(t.Context(), fakegce.QuotaLater)
	case forbids:
		w.faults[f], err = w.Add(t.Context(), fakegce.NoRights)
	case stops:
		err = w.Stop(t.Context(), on)
	case vanishes:
		err = w.Remove(t.Context(), on)
	}
	w.must(t, err)
}

func (w *gceWorld) end(t *testing.T, f trouble) {
	t.Helper()
	w.must(t, w.Lift(context.WithoutCancel(t.Context()), w.faults[f]))
	delete(w.faults, f)
}
