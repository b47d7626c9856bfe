package rig

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"
)

// buildTimeout covers a cold build with the race detector.
const buildTimeout = 8 * time.Minute

// Build builds gatehouse into dir and returns its path; flags are those of "go build".
func Build(ctx context.Context, dir string, flags ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, buildTimeout)
	defer cancel()
	path := filepath.Join(dir, "gatehouse")
	args := append([]string{"build", "-o", path}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, "github.com/gatehouse-proxy/gatehouse/cmd/gatehouse")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build gatehouse: %w\n%s", err, out)
	}
	return path, nil
}
