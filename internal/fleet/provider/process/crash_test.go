package process

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// operator, in the environment, makes this program one that creates or deletes an
// instance, and kills itself at a point on the way.
const operator = "GATEHOUSE_TEST_OPERATOR"

// order is what the value of operator says.
type order struct {
	Dir, Program, Do, At string
	Network              bool
}

const uid = "44444444-dddd-4ddd-8ddd-dddddddddddd"

func (o order) provider() (*Provider, error) {
	options := Options{Dir: o.Dir, Cluster: "ours", Command: []string{o.Program}}
	if o.Network {
		options.Network = &Network{}
	}
	return New(context.Background(), options)
}

func operate() {
	var o order
	err := json.Unmarshal([]byte(os.Getenv(operator)), &o)
	var p *Provider
	if err == nil {
		p, err = o.provider()
	}
	if err == nil {
		p.cut = func(point string) error {
			if point == o.At {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
			return nil
		}
		if o.Do == "create" {
			_, err = p.Create(context.Background(), request("ours", uid))
		} else {
			for err = p.Delete(context.Background(), provider.NameFromUID(uid)); err == nil; time.Sleep(time.Millisecond) {
				_, err = p.Get(context.Background(), provider.NameFromUID(uid)) // until it is gone
			}
		}
	}
	fmt.Println("was not killed:", err)
	os.Exit(0)
}

// TestKilled kills an operator at every point of a create and of a delete, and lets
// another one go on: there is one process then, and nothing after it was deleted.
func TestKilled(t *testing.T) { killed(t, false) }

func TestKilledWithNamespaces(t *testing.T) {
	if alone(t) {
		killed(t, true)
	}
}

func killed(t *testing.T, network bool) {
	creating := []string{"recorded", "started", "noted"}
	if network {
		creating = append(creating, "bridged", "plugged")
	}
	for _, point := range creating {
		t.Run("create, "+point, func(t *testing.T) { killedAt(t, order{Do: "create", At: point, Network: network}) })
	}
	for _, point := range []string{"delete", "deleting", "ended", "removed"} {
		t.Run("delete, "+point, func(t *testing.T) { killedAt(t, order{Do: "delete", At: point, Network: network}) })
	}
}

func killedAt(t *testing.T, o order) {
	w := newWorld(t, nil)
	o.Dir, o.Program = w.dir, w.program
	if o.Do == "delete" {
		p := opened(t, o)
		if _, err := p.Create(t.Context(), request("ours", uid)); err != nil {
			t.Fatal(err)
		}
	}
	o.suffer(t)
	p := opened(t, o)
	if o.Do == "create" {
		if _, err := p.Create(t.Context(), request("ours", uid)); err != nil {
			t.Fatal(err)
		}
		runs(t, p)
		if got := len(processesOf(p.store.folder(provider.NameFromUID(uid)))); got != 1 {
			t.Errorf("there are %d processes, want 1", got)
		}
	}
	ends(t, p)
	clean(t, o.Dir)
}

func opened(t *testing.T, o order) *Provider {
	t.Helper()
	p, err := o.provider()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// suffer lets a process follow the order until it is killed.
func (o order) suffer(t *testing.T) {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), operator+"="+string(text))
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("killed at %q: %v: %s", o.At, err, out)
	}
}

// eventually looks until something is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	over := time.After(time.Minute)
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for !so() {
		select {
		case <-over:
			t.Fatalf("not within a minute: %s", what)
		case <-again.C:
		}
	}
}

func runs(t *testing.T, p *Provider) provider.Instance {
	t.Helper()
	var got provider.Instance
	eventually(t, "it runs", func() bool {
		var err error
		got, err = p.Get(t.Context(), provider.NameFromUID(uid))
		return err == nil && got.State == provider.Running
	})
	return got
}

func ends(t *testing.T, p *Provider) {
	t.Helper()
	if err := p.Delete(t.Context(), provider.NameFromUID(uid)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is gone", func() bool {
		_, err := p.Get(t.Context(), provider.NameFromUID(uid))
		return provider.ClassName(err) == "NotFound"
	})
}
