package envoytest

import (
	"os"
	"path/filepath"
	"testing"
)

// Version is the Envoy that tests run against.
const Version = "1.40.0"

// Binary returns the path of Envoy, and ends the test when there is none.
func Binary(t testing.TB) string {
	t.Helper()
	path := os.Getenv("GATEHOUSE_ENVOY")
	if path == "" {
		path = cached(t)
	}
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		t.Fatalf("no Envoy at %s: run \"make envoy\", or set GATEHOUSE_ENVOY", path)
	}
	return path
}

func cached(t testing.TB) string {
	t.Helper()
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatalf("no home directory to look for Envoy in: %v; set GATEHOUSE_ENVOY", err)
		}
		cache = filepath.Join(home, ".cache")
	}
	return filepath.Join(cache, "gatehouse", "envoy", Version, "envoy")
}
