package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gatehouse-proxy/gatehouse/internal/config"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider/process"
)

// processProvider starts processes on this machine. What it knows of them it keeps in
// the state directory, below process.
func processProvider(ctx context.Context, c config.Fleet, _ IO, cluster string) (provider.Provider, error) {
	if c.StateDir == "" {
		return nil, errors.New("its processes outlive this one and are kept in a directory: name it with --state-dir")
	}
	command, err := forwardCommand(c.Process.ForwardBinary)
	if err != nil {
		return nil, err
	}
	o := process.Options{
		Dir: filepath.Join(c.StateDir, "process"), Cluster: cluster, Command: command,
		AllowDestinations: c.Process.AllowDestinations,
	}
	if c.Process.Network {
		o.Network = &process.Network{Pool: c.Process.Pool}
	}
	return process.New(ctx, o)
}

// forwardCommand is the program that is named, the one beside this program, or this one.
func forwardCommand(path string) ([]string, error) {
	if path != "" {
		path, err := filepath.Abs(path)
		return []string{path}, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w; name gatehouse-forward with --forward-binary", err)
	}
	beside := filepath.Join(filepath.Dir(self), "gatehouse-forward")
	if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
		return []string{beside}, nil
	}
	return []string{self, "forward"}, nil
}
