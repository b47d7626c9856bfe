// Package crawl runs what crawlers meet, for tests and for the demo: "gatehouse fleet" over
// files, with proxies that are processes of this machine, each with an address of its own,
// the lease API and the super-proxy; and a target that bans addresses. It needs no rights,
// takes free ports, and leaves nothing behind once it is closed.
package crawl

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	egress "github.com/gatehouse-proxy/gatehouse/clients/go"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// stopTime bounds the end of a fleet, and of each of its processes.
const stopTime = 20 * time.Second

// Options say what runs.
type Options struct {
	// Binary is the path of gatehouse; gatehouse-forward is beside it.
	Binary string
	// Dir is an empty directory for everything, which the caller removes.
	Dir string
	// Names of the proxies; a name with "socks" in it speaks SOCKS5, the others HTTP.
	Names []string
	// Health is the URL that proxies are probed with.
	Health string
	// Destinations are networks that proxies may connect to although they are of this machine.
	Destinations string
	// Lease, Egress and Admin are HOST:PORT of the lease API, the super-proxy and the admin
	// API; empty takes a free port of loopback.
	Lease, Egress, Admin string
	// SuperProxy has one at Egress.
	SuperProxy bool
	// Flags come last.
	Flags []string
	// Log takes what the fleet writes, besides the Log of the Fleet; nil for nothing.
	Log io.Writer
}

// Fleet is a running "gatehouse fleet".
type Fleet struct {
	// Lease, Egress and Admin are HOST:PORT.
	Lease, Egress, Admin string
	// Token is that of the lease API, EgressToken one of the super-proxy.
	Token, EgressToken string
	// Log is what the fleet has written.
	Log *rig.Output

	o     Options
	cmd   *exec.Cmd
	ended chan struct{}
}

// Open starts a fleet and does not wait for its proxies.
func Open(ctx context.Context, o Options) (*Fleet, error) {
	f := &Fleet{Lease: o.Lease, Egress: o.Egress, Admin: o.Admin, Token: rand.Text(), Log: new(rig.Output), o: o, ended: make(chan struct{})}
	for _, address := range []*string{&f.Lease, &f.Egress, &f.Admin} {
		if *address != "" {
			continue
		}
		port, err := rig.FreePort(ctx)
		if err != nil {
			return nil, err
		}
		*address = fmt.Sprintf("%s:%d", rig.Loopback, port)
	}
	if err := errors.Join(os.Mkdir(f.config(), 0o700), f.write(o.Names)); err != nil {
		return nil, err
	}
	if o.SuperProxy {
		if err := f.makeToken(ctx); err != nil {
			return nil, err
		}
	}
	return f, f.start()
}

func (f *Fleet) config() string { return filepath.Join(f.o.Dir, "config") }
func (f *Fleet) tokens() string { return filepath.Join(f.o.Dir, "tokens") }

// write makes these proxies the only ones.
func (f *Fleet) write(names []string) error {
	text := fmt.Sprintf("# Made for this run.\napiVersion: v1\nkind: Secret\nmetadata: {name: px-auth, namespace: crawl}\nstringData: {lease-key: %s}\n", rand.Text()+rand.Text())
	if key, err := os.ReadFile(filepath.Join(f.o.Dir, "secret.yaml")); err == nil {
		text = string(key)
	} else if err := os.WriteFile(filepath.Join(f.o.Dir, "secret.yaml"), []byte(text), 0o600); err != nil {
		return err
	}
	for _, name := range names {
		scheme := "http"
		if strings.Contains(name, "socks") {
			scheme = "socks5"
		}
		text += fmt.Sprintf(`---
apiVersion: egress.gatehouse.dev/v1alpha1
kind: Proxy
metadata: {name: %s, namespace: crawl}
spec:
  mode: Managed
  provider: process
  endpoint: {scheme: %s}
  attributes: {scheme: %s}
  auth: {secretRef: {name: px-auth}}
  healthCheck: {interval: 5s, timeout: 4s, successThreshold: 1, failureThreshold: 20}
`, name, scheme, scheme)
	}
	path := filepath.Join(f.config(), "fleet.yaml")
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func (f *Fleet) arguments() []string {
	arguments := []string{
		"fleet", "--config", f.config(), "--state-dir", filepath.Join(f.o.Dir, "state"),
		"--admin-address", f.Admin, "--metrics-address", "127.0.0.1:0", "--lease-address", f.Lease,
		"--process-allow-destinations", f.o.Destinations, "--health-check-url", f.o.Health, "--allow-mass-delete",
	}
	if f.o.SuperProxy {
		arguments = append(arguments, "--egress-listen", f.Egress, "--egress-tokens", f.tokens())
	}
	return append(arguments, f.o.Flags...)
}

func (f *Fleet) start() error {
	f.cmd = exec.Command(f.o.Binary, f.arguments()...) //nolint:noctx // Close ends it, in stages
	f.cmd.Env = append(os.Environ(), "DISCOVERY_TOKEN="+f.Token)
	f.cmd.Stdout, f.cmd.Stderr = f.Log, f.Log
	if f.o.Log != nil {
		f.cmd.Stdout = io.MultiWriter(f.Log, f.o.Log)
		f.cmd.Stderr = f.cmd.Stdout
	}
	// Its own group: a Ctrl-C in a terminal is ours to pass on, once.
	f.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := f.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", f.o.Binary, err)
	}
	go func() {
		_ = f.cmd.Wait()
		close(f.ended)
	}()
	return nil
}

// Ended is closed once the process has ended.
func (f *Fleet) Ended() <-chan struct{} { return f.ended }

// Client asks the lease API.
func (f *Fleet) Client() *egress.Client {
	return &egress.Client{BaseURL: "http://" + f.Lease, Token: f.Token, Attempts: 1}
}

// Ready waits until every proxy can be leased, and returns them.
func (f *Fleet) Ready(ctx context.Context) (all []egress.Proxy, err error) {
	err = f.until(ctx, "every proxy can be leased", func() error {
		all, err = f.Client().List(ctx, egress.Filter{Healthy: new(true)})
		if err == nil && len(all) < len(f.o.Names) {
			err = fmt.Errorf("%d of %d can", len(all), len(f.o.Names))
		}
		return err
	})
	return all, err
}

// until looks until there is no error.
func (f *Fleet) until(ctx context.Context, what string, look func() error) error {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		err := look()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w", what, errors.Join(context.Cause(ctx), err))
		case <-f.ended:
			return fmt.Errorf("gatehouse fleet ended by itself (%s); it said:\n%s", f.cmd.ProcessState, f.Log)
		case <-again.C:
		}
	}
}

// Instances are the folders that the fleet keeps of its proxies' processes.
func (f *Fleet) Instances() []string {
	all, _ := filepath.Glob(filepath.Join(f.o.Dir, "state", "process", "instances", "*"))
	return all
}

// Close removes the proxies, as an operator would: by their documents. Then it ends the
// fleet. Proxies that were not gone by then are an error. It goes on when ctx ends.
func (f *Fleet) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	err := f.write(nil)
	if err == nil {
		err = f.until(ctx, "the proxies are gone", func() error {
			if left := f.Instances(); len(left) > 0 {
				return fmt.Errorf("%d are left", len(left))
			}
			return nil
		})
	}
	_ = f.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-f.ended:
	case <-time.After(stopTime):
		err = errors.Join(err, errors.New("gatehouse fleet does not end"))
		_ = f.cmd.Process.Kill()
		<-f.ended
	}
	return err
}
