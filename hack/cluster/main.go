// Cluster starts the Kubernetes control plane of test/cluster for whoever wants one
// without containers, keeps it running in the background, and ends it. There is one for
// each cache directory. A lock on a file tells whether it runs, so nothing has to be
// cleaned up after a crash.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/gatehouse-proxy/gatehouse/test/cluster"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	ctx, cancel := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer cancel()
	cache, err := cluster.CacheDir()
	if err != nil {
		return err
	}
	p := place{dir: filepath.Join(cache, "up"), out: out}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	switch {
	case len(args) == 1 && args[0] == "up":
		return p.up(ctx)
	case len(args) == 1 && args[0] == "down":
		return p.down(ctx)
	case len(args) == 1 && args[0] == keep:
		return p.keep(ctx)
	}
	return fmt.Errorf("arguments %q: say up or down", args)
}

// place is what is known of the cluster.
type place struct {
	dir string
	out io.Writer
}

func (p place) kubeconfig() string { return filepath.Join(p.dir, "kubeconfig") }
func (p place) log() string        { return filepath.Join(p.dir, "log") }

func (p place) say(format string, args ...any) { _, _ = fmt.Fprintf(p.out, format+"\n", args...) }
