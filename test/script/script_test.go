// Package script runs the gatehouse binary's command line as users do, against a
// running instance that has a fixed answer to everything.
package script

import (
	"context"
	"net"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/admin/admintest"
	"github.com/gatehouse-proxy/gatehouse/internal/admin/fleetapi"
	"github.com/gatehouse-proxy/gatehouse/internal/cli"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/explain"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"gatehouse": func() {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			os.Exit(cli.Main(ctx, cli.Process{Args: os.Args[1:], Out: os.Stdout, Err: os.Stderr, Environ: os.Environ()}))
		},
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			address, stop, err := serve()
			if err != nil {
				return err
			}
			env.Defer(stop)
			env.Setenv("GATEHOUSE_ADMIN_ADDRESS", address)
			for name, of := range map[string]func(time.Time) fleetapi.Options{
				"GATEHOUSE_FLEET_ADMIN_ADDRESS": func(now time.Time) fleetapi.Options { return fleetapi.Options{Shell: crawlers{now}} },
				"LEASED": func(now time.Time) fleetapi.Options {
					l := leased{crawlers{now}}
					return fleetapi.Options{Shell: l, Uses: l, Requests: func() explain.Requests { return explain.Requests{Granted: 7, Refused: 1} }}
				},
			} {
				fleet, stop, err := serveFleet(of)
				if err != nil {
					return err
				}
				env.Defer(stop)
				env.Setenv(name, fleet)
			}
			env.Setenv("LANG", "C.UTF-8")
			env.Setenv("TZ", "UTC")
			return nil
		},
	})
}

// serve answers for a shop until stop is called, which waits for the end.
func serve() (address string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- admin.Serve(ctx, l, admin.Handler(admin.Options{Reporter: admintest.Shop()})) }()
	return l.Addr().String(), func() { cancel(); <-done }, nil
}
