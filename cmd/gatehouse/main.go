// Command gatehouse serves Gateway API objects with Envoy.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/gatehouse-proxy/gatehouse/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(cli.Main(ctx, cli.Process{Args: os.Args[1:], Out: os.Stdout, Err: os.Stderr, Environ: os.Environ()}))
}
