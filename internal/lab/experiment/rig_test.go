package experiment_test

import (
	"context"
	"io"
	"net/netip"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/arena"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/arena/arenatest"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/experiment"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy/nginx"
)

func TestMain(m *testing.M) { os.Exit(arenatest.Main(m)) }

// patience bounds what tests wait for; nothing comes near it.
const patience = 20 * time.Second

// start returns an experiment on a real nginx in front of real backends, which plays
// events for length. What is left of it when the test ends fails the test.
func start(t *testing.T, length lab.Moment, events ...lab.Event) experiment.Experiment {
	t.Helper()
	known := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, known) })
	x := experiment.Experiment{
		Plan: experiment.Plan{
			Name: "nginx", Model: lab.ModelReload,
			Timeline: lab.Timeline{Events: events, Length: length, Reload: lab.Policy{OnChange: true}},
			Load:     lab.Load{Rate: 50, Timeout: lab.Moment(time.Second)},
		},
		Clock: new(experiment.Clock),
	}
	x.World, x.Failed = newWorld(t, x.Clock)
	x.Proxy = newProxy(t)
	return x
}

func newWorld(t *testing.T, clock *experiment.Clock) (*arena.Arena, <-chan error) {
	t.Helper()
	died := make(chan error, 8)
	world, err := arena.New(arena.Options{Backend: arenatest.Backend(), Now: clock.Now, Died: func(err error) { died <- err }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := world.Close(); err != nil {
			t.Error(err)
		}
	})
	return world, died
}

func newProxy(t *testing.T) proxy.Proxy {
	t.Helper()
	program, err := nginx.Describe().Find()
	if err != nil {
		t.Fatal(err)
	}
	p := nginx.Describe().New(proxy.Options{Dir: t.TempDir(), Program: program, Log: io.Discard})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := p.Start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := p.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return p
}

// interrupted is a world in which something happens when backend "late" is to start.
type interrupted struct {
	experiment.World
	happens func()
}

func (w interrupted) StartBackend(ctx context.Context, name string, address netip.Addr) error {
	if name == "late" {
		w.happens()
	}
	return w.World.StartBackend(ctx, name, address)
}

// add makes a backend routable.
func add(at time.Duration, name, address string) lab.Event {
	return lab.Event{At: lab.Moment(at), Kind: lab.Add, Backend: name, Address: address}
}
