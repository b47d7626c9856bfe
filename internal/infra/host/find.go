package host

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// EnvoyVersion is the version that Gatehouse is built and tested with.
const EnvoyVersion = "1.40.0"

// EnvoyVariable is the environment variable that names the Envoy binary.
const EnvoyVariable = "GATEHOUSE_ENVOY"

// FindEnvoy returns the Envoy binary and where it was found: "flag",
// "environment", "PATH" or "cache". It looks at the flag's value,
// $GATEHOUSE_ENVOY, PATH, then Gatehouse's cache directory. A flag or variable
// that names no executable is an error, not a reason to look further. The error
// says where it looked and how to get one.
func FindEnvoy(flag string) (path, how string, err error) {
	if flag != "" {
		path, err = named("--envoy", flag)
		return path, "flag", err
	}
	if value := os.Getenv(EnvoyVariable); value != "" {
		path, err = named("$"+EnvoyVariable, value)
		return path, "environment", err
	}
	if path, err = exec.LookPath("envoy"); err == nil {
		path, err = filepath.Abs(path)
		return path, "PATH", err
	}
	cached, err := cachedEnvoy()
	if err == nil {
		if path, err = executable(cached); err == nil {
			return path, "cache", nil
		}
	}
	return "", "", fmt.Errorf("no Envoy found: --envoy and $%s are not set, none is in PATH, and the cache has none (%w); get one with \"make envoy\", or name one in $GATEHOUSE_ENVOY", EnvoyVariable, err)
}

// named resolves a path that a user gave.
func named(source, value string) (string, error) {
	path, err := executable(value)
	if err != nil {
		return "", fmt.Errorf("%s %q: %w; name an Envoy %s binary, or leave it out to use PATH or the cache", source, value, cause(err), EnvoyVersion)
	}
	return path, nil
}

func cachedEnvoy() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache directory: %w", err)
	}
	return filepath.Join(cache, "gatehouse", "envoy", EnvoyVersion, "envoy"), nil
}

func executable(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case info.IsDir():
		return "", fmt.Errorf("%s is a directory", path)
	case info.Mode()&0o111 == 0:
		return "", fmt.Errorf("%s is not executable", path)
	}
	return filepath.Abs(path)
}

// cause leaves out the path that the caller already says.
func cause(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return path.Err
	}
	return err
}
