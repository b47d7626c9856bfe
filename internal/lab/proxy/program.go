package proxy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// versionTimeout bounds how long a program may take to say its version.
const versionTimeout = 10 * time.Second

// Program is how a program is found on this machine.
type Program struct {
	// Name is what it is called in PATH: "nginx".
	Name string
	// Variable is the environment variable that names another one: "GATEHOUSE_NGINX".
	Variable string
	// Cached is where "make lab-programs" puts one, under the cache directory of
	// Gatehouse; empty if it puts none there.
	Cached string
	// Get says how to get it, to be read after "get it: ".
	Get string
	// VersionFlag makes it print its version, which is the first group of VersionForm.
	VersionFlag string
	VersionForm *regexp.Regexp
}

// administrators are where servers are installed, which is not in everyone's PATH.
var administrators = []string{"/usr/local/sbin", "/usr/sbin", "/sbin"}

// Find returns the absolute path: $Variable, which must be right if it is set, then
// PATH and where administrators' programs are, then the cache.
func (p Program) Find() (string, error) {
	if value := os.Getenv(p.Variable); value != "" {
		path, err := exec.LookPath(value)
		if err != nil {
			return "", fmt.Errorf("$%s is %q: %w; name an executable %s, or unset it", p.Variable, value, cause(err), p.Name)
		}
		return filepath.Abs(path)
	}
	for _, candidate := range p.candidates() {
		if path, err := exec.LookPath(candidate); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", fmt.Errorf("%s is not installed: it is not in PATH or /usr/sbin; get it: %s, or name one in $%s", p.Name, p.Get, p.Variable)
}

func (p Program) candidates() []string {
	out := []string{p.Name}
	for _, dir := range administrators {
		out = append(out, filepath.Join(dir, p.Name))
	}
	if cache, err := os.UserCacheDir(); err == nil && p.Cached != "" {
		out = append(out, filepath.Join(cache, "gatehouse", p.Cached))
	}
	return out
}

// cause leaves out the path, which the caller already says.
func cause(err error) error {
	switch e := err.(type) { //nolint:errorlint // the outermost is meant
	case *exec.Error:
		return cause(e.Err)
	case *os.PathError:
		return e.Err
	}
	return err
}

// Version asks the program at path for its version: "1.22.1".
func (p Program) Version(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	out, err := said(ctx, path, p.VersionFlag)
	if err != nil {
		return "", fmt.Errorf("ask %s %s for its version: %w; name a working one in $%s", p.Name, path, err, p.Variable)
	}
	match := p.VersionForm.FindStringSubmatch(out)
	if match == nil {
		first, _, _ := strings.Cut(out, "\n")
		return "", fmt.Errorf("%s %s says %q for its version, which is not the form of %s; name a working one in $%s", p.Name, path, first, p.Name, p.Variable)
	}
	return match[1], nil
}

// said runs a program to its end and returns the beginning of what it writes. When the
// context ends, or it writes without end, it is killed with all that it started.
func said(ctx context.Context, path string, args ...string) (string, error) {
	var text beginning
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdout, cmd.Stderr = &text, &text
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = drainLog
	err := cmd.Run()
	if ctx.Err() != nil {
		err = errors.New("it does not end")
	}
	return text.String(), err
}

// beginning keeps the first bytes that are written to it, and then refuses more.
type beginning struct{ strings.Builder }

// maxSaid bounds what is kept, in bytes.
const maxSaid = 64 << 10

func (b *beginning) Write(text []byte) (int, error) {
	if b.Len()+len(text) > maxSaid {
		return 0, errors.New("it writes without end")
	}
	return b.Builder.Write(text)
}
