package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// TestWhatCannotBeAddedLeavesNothing: credentials of an attempt that failed would fill
// a full disk further, each time.
func TestWhatCannotBeAddedLeavesNothing(t *testing.T) {
	s := store{dir: t.TempDir()}
	if err := s.make(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(s.folder("px-1"), "occupied"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, i := range map[string]*instance{"the name is taken": {Name: "px-1"}, "the name is no name": {Name: strings.Repeat("x", 300)}} {
		if err := s.add(i, provider.Credentials{Username: "bob", Password: "secret"}); err == nil {
			t.Errorf("%s: it was added", name)
		}
		if left, err := os.ReadDir(s.scrap()); err != nil || len(left) != 0 {
			t.Errorf("%s: %v is left, error %v", name, left, err)
		}
	}
}
