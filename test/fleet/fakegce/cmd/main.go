// Fakegce answers clients of Google Compute Engine from memory, see package fakegce. It
// prints where it listens, and ends at SIGTERM.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/gatehouse-proxy/gatehouse/test/fleet/fakegce"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "fakegce:", err)
		os.Exit(1)
	}
}

func run() error {
	listen := flag.String("listen", "127.0.0.1:0", "address")
	projects := flag.String("projects", "test-project", "projects that exist, separated by commas")
	o := fakegce.Options{}
	flag.DurationVar(&o.StageAfter, "stage-after", 0, "how long an instance is in state PROVISIONING")
	flag.DurationVar(&o.RunAfter, "run-after", 0, "how long it takes to run")
	flag.DurationVar(&o.AddressAfter, "address-after", 0, "how long after that it has its external address")
	flag.DurationVar(&o.GoneAfter, "gone-after", 0, "how long a deletion takes")
	flag.Parse()
	o.Projects = strings.Split(*projects, ",")

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *listen)
	if err != nil {
		return fmt.Errorf("listen at %s: %w", *listen, err)
	}
	server := &http.Server{Handler: fakegce.New(o), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	fmt.Println("http://" + listener.Addr().String())
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
		return server.Close()
	}
}
