// Demofleet shows a fleet of egress proxies on one machine: it starts gatehouse fleet with
// three proxies, and a target that bans addresses, lets a crawler work through them, and
// says what to try. With --check it tells the same story and asserts it. Either way it ends
// with nothing left behind. It needs no rights, and may run twice at once.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gatehouse-proxy/gatehouse/test/orphan"
)

func main() {
	check := flag.Bool("check", false, "assert the story, and end")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "demofleet:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := orphan.Adopt(); err != nil {
		return err
	}
	binary, err := besides("gatehouse")
	if err != nil {
		return err
	}
	err = demonstrate(ctx, binary, check)
	if ctx.Err() != nil {
		err = nil // it was asked to end
	}
	if left := orphan.End(5 * time.Second); len(left) > 0 {
		err = errors.Join(err, fmt.Errorf("processes left behind: %q", left))
	}
	return err
}

// besides returns the path of a program in the directory above this one's.
func besides(name string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	path := filepath.Join(filepath.Dir(filepath.Dir(self)), name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%w: run make build", err)
	}
	return path, nil
}
