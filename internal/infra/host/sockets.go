package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const (
	// maxSocketPath is what sockaddr_un holds, without the final zero byte.
	maxSocketPath = 107
	// maxSocketName is the longest name of a socket in a SocketDir.
	maxSocketName = 24
)

// SocketDir returns the directory for the Unix sockets of a state directory,
// always the same one, and makes it, for its owner only: STATE/run or, when the
// path of a socket there would be longer than the 107 bytes that Unix allows, a
// short directory under $XDG_RUNTIME_DIR or /tmp. Names of sockets in it have at
// most 24 bytes.
func SocketDir(stateDir string) (string, error) {
	abs, err := filepath.Abs(stateDir)
	if err != nil {
		return "", fmt.Errorf("state directory %q: %w", stateDir, err)
	}
	dir := filepath.Join(abs, "run")
	if fits(dir) {
		return dir, ownDir(dir)
	}
	name := fmt.Sprintf("gatehouse-%d-%s", os.Getuid(), shortHash(abs, 6))
	for _, parent := range []string{os.Getenv("XDG_RUNTIME_DIR"), "/tmp"} {
		if dir = filepath.Join(parent, name); filepath.IsAbs(dir) && fits(dir) && ownDir(dir) == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("state directory %q: its path is too long for Unix sockets (%d bytes, at most %d) and neither $XDG_RUNTIME_DIR nor /tmp can hold a directory of ours: name a shorter one with --state-dir", stateDir, len(abs), maxSocketPath-len("/run/")-maxSocketName)
}

// RemoveSocketDir removes a SocketDir if it is empty.
func RemoveSocketDir(dir string) error {
	err := os.Remove(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTEMPTY) {
		return nil
	}
	return err
}

func fits(dir string) bool { return len(dir)+1+maxSocketName <= maxSocketPath }

// ownDir makes a directory or accepts one that nobody else can write to.
func ownDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make directory for sockets: %w", err)
	}
	var stat unix.Stat_t
	if err := unix.Lstat(dir, &stat); err != nil {
		return fmt.Errorf("look at directory for sockets %s: %w", dir, err)
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR || stat.Mode&0o022 != 0 || int(stat.Uid) != os.Getuid() {
		return fmt.Errorf("directory for sockets %s belongs to others or can be written by them: remove it, or name another state directory with --state-dir", dir)
	}
	return nil
}

// checkSocket says why a path cannot be a Unix socket's.
func checkSocket(path string) error {
	if len(path) <= maxSocketPath {
		return nil
	}
	return fmt.Errorf("%q: its path has %d bytes, at most %d are possible: name a shorter state directory with --state-dir", path, len(path), maxSocketPath)
}
