package fakegce_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider/gcp"
	"github.com/gatehouse-proxy/gatehouse/test/fleet/fakegce"
)

// A copy of the test binary is the client that is killed.
const clientOf = "FAKEGCE_CLIENT_OF"

func TestMain(m *testing.M) {
	if url := os.Getenv(clientOf); url != "" {
		_, _ = open(url).Create(context.Background(), request("a"))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func open(url string) provider.Provider {
	return gcp.New(gcp.Options{Project: "test-project", Endpoint: url})
}

func request(uid string) provider.CreateRequest {
	return provider.CreateRequest{Name: provider.NameFromUID(uid), Cluster: "c", UID: uid, Hash: "0", Zone: "europe-west1-b", ExternalIP: true}
}

// program starts the service as a process and returns its other side.
func program(t *testing.T) fakegce.Control {
	t.Helper()
	at := filepath.Join(t.TempDir(), "fakegce")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", at, "./cmd").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	cmd := exec.Command(at)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("fakegce ended with %v", err)
		}
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return fakegce.Control{URL: strings.TrimSpace(url)}
}

// TestKilledAtACall: a client that is killed while its call is held has made an instance
// or not, as the call was held after it was carried out or before.
func TestKilledAtACall(t *testing.T) {
	t.Parallel()
	c := program(t)
	for want, where := range []string{fakegce.Before, fakegce.After} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		id, err := c.Add(ctx, fakegce.Fault{Call: fakegce.Insert, Hold: where})
		if err != nil {
			t.Fatal(err)
		}
		client := exec.CommandContext(ctx, os.Args[0])
		client.Env = append(os.Environ(), clientOf+"="+c.URL)
		if err := client.Start(); err != nil {
			t.Fatal(err)
		}
		held, err := c.WaitHeld(ctx)
		if err != nil || held.Where != where || held.Call.Call != fakegce.Insert || held.Call.Name != "px-a" {
			t.Errorf("held %+v, %v; want the insert of px-a, %s", held, err, where)
		}
		if err := client.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = client.Wait()
		if err := c.WaitFree(ctx); err != nil {
			t.Fatal(err)
		}
		if all, err := c.Machines(ctx); err != nil || len(all) != want {
			t.Errorf("held %s: instances %v, %v; want %d", where, all, err, want)
		}
		if err := c.Lift(ctx, id); err != nil {
			t.Error(err)
		}
		cancel()
	}
}

// TestControl: everything that changes the world can be done from another process.
func TestControl(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := program(t)
	p := open(c.URL)
	made, err := p.Create(ctx, request("a"))
	if err != nil {
		t.Fatal(err)
	}
	first, err := p.Get(ctx, made.ID)
	if err != nil || first.State != provider.Running {
		t.Fatalf("state %d, %v; want it to run", first.State, err)
	}
	step(t, c.Stop(ctx, made.ID))
	if got, err := p.Get(ctx, made.ID); err != nil || got.State != provider.Stopped {
		t.Errorf("stopped: state %d, %v", got.State, err)
	}
	step(t, c.Restart(ctx, made.ID))
	if got, err := p.Get(ctx, made.ID); err != nil || got.State != provider.Running || got.IP == first.IP {
		t.Errorf("restarted: state %d at %s, %v; want another address than %s", got.State, got.IP, err, first.IP)
	}
	step(t, c.Set(ctx, map[string]any{"NoAddress": true}))
	if got, err := p.Get(ctx, made.ID); err != nil || got.State != provider.Provisioning || got.Detail != "no external address yet" {
		t.Errorf("without an address: state %d, %q, %v", got.State, got.Detail, err)
	}
	step(t, c.Place(ctx, fakegce.Machine{Project: "test-project", Zone: "us-central1-a", Name: "database"}))
	step(t, c.SetUnreachable(ctx, "us-central1-a", fakegce.AsWarning))
	if _, err := p.ListByTag(ctx, "c"); err == nil {
		t.Error("a list without an unreachable zone is whole")
	}
	step(t, c.Remove(ctx, made.ID))
	if _, err := p.Get(ctx, made.ID); provider.ClassName(err) != "NotFound" {
		t.Errorf("removed: %v", err)
	}
	if err := c.Remove(ctx, made.ID); err == nil || !strings.Contains(err.Error(), "there is no "+made.ID) {
		t.Errorf("removed again: %v", err)
	}
	if calls, err := c.Calls(ctx); err != nil || len(calls) != 7 || calls[0].Call != fakegce.Insert || calls[0].Status != 200 {
		t.Errorf("calls %v, %v", calls, err)
	}
	if broken, err := c.Broken(ctx); err != nil || len(broken) != 0 {
		t.Errorf("broken: %v, %v", broken, err)
	}
}

func step(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
