// Demo runs the shop of examples/shop: it copies the files to a directory that the
// user may edit, starts the backends, makes a certificate, runs gatehouse, and
// says what to try. With --check it walks the tour by itself and asserts it.
// Either way it ends with nothing left behind.
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
	check := flag.Bool("check", false, "walk the tour without a terminal and assert it")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
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
	do := show
	if check {
		do = walk
	}
	err = do(ctx, binary)
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
