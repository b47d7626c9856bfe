package app

import (
	"fmt"
	"path/filepath"
	"strings"
)

// apart refuses a state directory inside what is watched: its files would be read
// as objects.
func (i *instance) apart() error {
	state, err := filepath.Abs(i.config.StateDir)
	if err != nil {
		return fmt.Errorf("--state-dir %s: %w", i.config.StateDir, err)
	}
	for _, path := range i.config.Paths {
		watched, err := filepath.Abs(path)
		if err != nil {
			return fmt.Errorf("--config %s: %w", path, err)
		}
		if within, err := filepath.Rel(watched, state); err == nil && within != ".." && !strings.HasPrefix(within, "../") {
			return fmt.Errorf("--state-dir %s lies inside --config %s, so that its files would be read as objects; choose a directory outside", i.config.StateDir, path)
		}
	}
	return nil
}
