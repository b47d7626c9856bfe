package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// workDir is the copy that the user edits.
const workDir = "demo"

// marker tells a left-over of ours from a directory of the user's.
const marker = ".made-by-make-demo"

// show runs the shop for a person until ctx ends.
func show(ctx context.Context, binary string) (err error) {
	dir, err := freeDir()
	if err != nil {
		return err
	}
	fmt.Println("Starting five small backends and one Envoy. Ctrl-C ends everything.")
	s, err := open(ctx, dir, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	for from, to := range s.moved {
		fmt.Printf("port %d is in use: the demo takes %d instead\n", from, to)
	}
	if err := s.write(marker, "made by make demo; it goes when the demo ends\n"); err != nil {
		return err
	}
	state, err := os.MkdirTemp("", "gatehouse-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(state)) }()
	return serve(ctx, s, binary, state)
}

func serve(ctx context.Context, s *shop, binary, state string) error {
	// It drains when told to below, not when ctx ends.
	i, err := rig.Start(context.WithoutCancel(ctx), rig.Options{
		Binary: binary, Config: []string{s.dir}, StateDir: state,
		Admin: s.adminAddress(ctx, 19000), Metrics: s.adminAddress(ctx, 19001),
		Stdout: os.Stdout, Stderr: os.Stderr,
	})
	if err != nil {
		return err
	}
	ready, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := i.WaitReady(ready); err != nil {
		if ctx.Err() != nil {
			return i.Stop()
		}
		return errors.Join(err, i.Stop())
	}
	s.explain(i)
	select {
	case <-ctx.Done():
		fmt.Println("\nending")
		return i.Stop()
	case <-i.Ended():
		return i.Stop()
	}
}

// adminAddress is the default, or empty when its port is in use.
func (s *shop) adminAddress(ctx context.Context, port uint16) string {
	if rig.Busy(ctx, port) {
		fmt.Printf("port %d is in use: gatehouse takes another\n", port)
		return ""
	}
	return fmt.Sprintf("%s:%d", rig.Loopback, port)
}

// freeDir returns a directory that does not exist yet, after it removed what an
// earlier demo could not.
func freeDir() (string, error) {
	if _, err := os.Stat(filepath.Join(workDir, marker)); err == nil {
		if err := os.RemoveAll(workDir); err != nil {
			return "", err
		}
	}
	if _, err := os.Lstat(workDir); err == nil {
		return "", fmt.Errorf("%s exists and is not the demo's: move it away", workDir)
	}
	return workDir, nil
}

func (s *shop) explain(i *rig.Instance) {
	ask := ""
	if i.Admin != "127.0.0.1:19000" {
		ask = " --admin-address " + i.Admin
	}
	web, tls, tcp := s.ports[httpPort], s.ports[httpsPort], s.ports[tcpPort]
	fmt.Printf(`
The shop is open.

  try     curl -H 'Host: %[1]s' http://127.0.0.1:%[2]d/
          # rewritten to /v1/shoes
          curl -H 'Host: %[1]s' http://127.0.0.1:%[2]d/catalog/shoes
          # 1 in 10 from the canary
          curl -H 'Host: %[1]s' http://127.0.0.1:%[2]d/checkout
          # redirected to HTTPS
          curl -i -H 'Host: %[1]s' http://127.0.0.1:%[2]d/account
          curl -k --resolve %[1]s:%[3]d:127.0.0.1 \
            https://%[1]s:%[3]d/
          # a TCP route
          bash -c 'exec 3<>/dev/tcp/127.0.0.1/%[4]d; head -1 <&3'

  edit    %[5]s/checkout.yaml
          change the weights, save, and ask for /checkout again
  break   %[5]s/catalog.yaml
          write PathPrefixx for PathPrefix: what served keeps serving
  ask     bin/gatehouse why httproute shop/catalog%[6]s
          bin/gatehouse status%[6]s
  look    http://%[7]s/

Ctrl-C ends everything and removes %[5]s/.

`, host, web, tls, tcp, s.dir, ask, i.Admin)
}
