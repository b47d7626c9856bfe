package host

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

const versionTimeout = 10 * time.Second

// Version asks an Envoy binary for its version, such as "1.40.0".
func Version(ctx context.Context, envoy string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, envoy, "--version")
	cmd.WaitDelay = time.Second // what it has started may hold its output
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("ask envoy %s for its version: %w; name a working Envoy %s with --envoy", envoy, err, EnvoyVersion)
	}
	version, ok := parseVersion(string(out))
	if !ok {
		return "", fmt.Errorf("envoy %s says %q for its version, which is not Envoy's form; name an Envoy %s with --envoy", envoy, firstLine(out), EnvoyVersion)
	}
	return version, nil
}

// VersionWarning returns why an Envoy version is not the one this was tested
// with, or nothing when its minor version is.
func VersionWarning(version string) string {
	if minor(version) == minor(EnvoyVersion) {
		return ""
	}
	return fmt.Sprintf("envoy %s is not the tested version %s; get that one with \"make envoy\"", version, EnvoyVersion)
}

// versionLine is "envoy  version: COMMIT/1.40.0/Clean/RELEASE/BoringSSL".
var versionLine = regexp.MustCompile(`version: [^/\s]+/(\d+\.\d+\.\d+[^/\s]*)/`)

func parseVersion(out string) (string, bool) {
	match := versionLine.FindStringSubmatch(out)
	if match == nil {
		return "", false
	}
	return match[1], true
}

// minor cuts "1.40.0" to "1.40".
func minor(version string) string {
	if i := strings.LastIndexByte(version, '.'); i > 0 {
		return version[:i]
	}
	return version
}

func firstLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return line
}
