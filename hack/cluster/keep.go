package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/gatehouse-proxy/gatehouse/pkg/wholefile"
	"github.com/gatehouse-proxy/gatehouse/test/cluster"
)

// keep is the argument of the process in the background.
const keep = "keep"

// keep runs the cluster until ctx ends.
func (p place) keep(ctx context.Context) error {
	lock, err := p.take()
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	if err := errors.Join(p.forget(), os.Truncate(p.log(), 0)); err != nil {
		return err
	}
	c, err := cluster.New(ctx)
	if err != nil {
		return err
	}
	if err := wholefile.Replace(p.kubeconfig(), c.AdminKubeconfig()); err != nil {
		return errors.Join(err, c.Close())
	}
	select {
	case <-ctx.Done():
	case <-c.Ended():
		err = fmt.Errorf("the control plane ended by itself; it said:\n%s", c.Log())
	}
	return errors.Join(err, p.forget(), c.Close())
}

// forget removes the kubeconfig, also that of a cluster which was killed.
func (p place) forget() error {
	if err := os.Remove(p.kubeconfig()); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
