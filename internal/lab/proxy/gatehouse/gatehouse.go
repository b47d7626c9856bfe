package gatehouse

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/envoyfacts"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
	"github.com/gatehouse-proxy/gatehouse/pkg/wholefile"
)

const (
	// adminAddress and metricsAddress are free in the namespace.
	adminAddress   = "127.0.0.1:19000"
	metricsAddress = "127.0.0.1:19001"
	// drainTimeout is shorter than the default: nobody waits for answers at the end.
	drainTimeout = "1s"
)

// gatehouse is a "gatehouse run" and the directory that it watches.
type gatehouse struct {
	options proxy.Options
	envoy   belief
	log     *envoyfacts.AccessLog
	process *proxy.Process
}

func newGatehouse(o proxy.Options) *gatehouse {
	g := &gatehouse{options: o}
	g.envoy.stateDir = g.path("state")
	g.log = &envoyfacts.AccessLog{Path: g.path("access.log"), Read: readLine, Mark: mark}
	return g
}

func (g *gatehouse) path(name string) string { return filepath.Join(g.options.Dir, name) }

// Start implements [proxy.Proxy].
func (g *gatehouse) Start(ctx context.Context) error {
	err := g.prepare(ctx)
	if err == nil {
		err = g.launch()
	}
	if err == nil {
		err = g.process.Await(ctx, ready)
	}
	if err != nil {
		proxy.Abandon(ctx, g.Stop)
	}
	return err
}

// prepare writes the objects.
func (g *gatehouse) prepare(ctx context.Context) error {
	if err := os.MkdirAll(g.path("config"), 0o700); err != nil {
		return fmt.Errorf("make the directory of objects: %w", err)
	}
	objects, err := gatewayObjects(g.log.Path, g.options.RetriesOff)
	if err != nil {
		return fmt.Errorf("make the objects: %w", err)
	}
	if err := os.WriteFile(filepath.Join(g.path("config"), "gateway.yaml"), objects, 0o600); err != nil {
		return fmt.Errorf("write the objects: %w", err)
	}
	return g.Update(ctx, nil)
}

func (g *gatehouse) launch() error {
	args := []string{
		"run", "--config", g.path("config"), "--state-dir", g.path("state"), "--envoy", g.options.Program,
		"--admin-address", adminAddress, "--metrics-address", metricsAddress,
		"--prover", "off", "--drain-timeout", drainTimeout,
	}
	if g.options.RetriesOff {
		args = append(args, "--features-experimental") // a route's retries are an experimental field
	}
	var err error
	g.process, err = proxy.Command{
		Name: "gatehouse", Path: g.options.Gatehouse, Args: args, Env: environment(os.Environ()), Log: g.options.Log, Noise: noise,
	}.Start()
	return err
}

// environment leaves out the settings of another Gatehouse.
func environment(all []string) []string {
	return slices.DeleteFunc(all, func(entry string) bool { return strings.HasPrefix(entry, "GATEHOUSE_") })
}

// ready asks Gatehouse first: at a busy port somebody else would answer.
func ready(ctx context.Context) error {
	status, answer, err := proxy.Get(ctx, proxy.Fresh(""), "http://"+adminAddress+"/readyz")
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return errors.New(strings.Join(strings.Fields(string(answer)), " "))
	}
	return proxy.Answers(ctx)
}

// Update renames a new file of endpoints into the place of the old one.
func (g *gatehouse) Update(_ context.Context, backends []proxy.Backend) error {
	objects, err := endpointObjects(backends)
	if err != nil {
		return err
	}
	if err := wholefile.Replace(filepath.Join(g.path("config"), "endpoints.yaml"), objects); err != nil {
		return fmt.Errorf("write the endpoints: %w", err)
	}
	return nil
}

// Belief implements [proxy.Proxy].
func (g *gatehouse) Belief(ctx context.Context) (proxy.Belief, error) {
	hosts, err := g.envoy.hosts(ctx)
	return proxy.Belief{All: hosts, Some: hosts}, err
}

// Processes is Gatehouse; its Envoy is a child of it.
func (g *gatehouse) Processes() []int { return []int{g.process.PID()} }

// Attempts implements [proxy.Proxy].
func (g *gatehouse) Attempts(ctx context.Context) (map[uint64]int, error) { return g.log.Attempts(ctx) }

// Exited implements [proxy.Proxy].
func (g *gatehouse) Exited() <-chan struct{} { return g.process.Exited() }

// Ended implements [proxy.Proxy].
func (g *gatehouse) Ended() error { return g.process.Ended() }

// Stop implements [proxy.Proxy].
func (g *gatehouse) Stop(ctx context.Context) error {
	g.envoy.close()
	if g.process == nil {
		return nil
	}
	return g.process.Stop(ctx, unix.SIGTERM)
}

// noise are lines that never say why Gatehouse ended.
func noise(line string) bool { return strings.Contains(line, " level=INFO ") }
