package postgres

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Version is one of the PostgreSQLs that "make postgres" brings: servers and programs.
type Version string

const (
	// Installed is the newest that Debian installed.
	Installed Version = ""
	// V17 has TLS, direct TLS included.
	V17 Version = "17.10"
	// V18 speaks protocol 3.2, and has no TLS.
	V18 Version = "18.6"
)

// psycopgVersion is of the psycopg that "make postgres" brings, with the libpq of 18.
const psycopgVersion = "3.3.9"

// Program returns the path of a client program of a version, for example "psql".
func Program(tb testing.TB, v Version, name string) string {
	tb.Helper()
	return filepath.Join(binaries(tb, v), name)
}

// binaries is the directory of a version's programs.
func binaries(tb testing.TB, v Version) string {
	tb.Helper()
	if v != Installed {
		return filepath.Join(cached(tb, "postgres", string(v)), "bin")
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		tb.Fatal("no PostgreSQL server in /usr/lib/postgresql: run \"make postgres\", or install Debian's package postgresql")
	}
	return filepath.Dir(found[len(found)-1])
}

// cached returns the path of what "make postgres" has put into the cache.
func cached(tb testing.TB, names ...string) string {
	tb.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(append([]string{cache, "gatehouse"}, names...)...)
	if _, err := os.Stat(path); err != nil {
		tb.Fatalf("%v: run \"make postgres\"", err)
	}
	return path
}

// reachable returns the directory of a version's programs for the server's user: root's
// cache is root's alone, so that its files are linked, or copied, into dir.
func reachable(tb testing.TB, v Version, dir string) string {
	tb.Helper()
	if v == Installed || credential(tb) == nil {
		return binaries(tb, v)
	}
	tree := filepath.Join(dir, "programs")
	if err := clone(cached(tb, "postgres", string(v)), tree); err != nil {
		tb.Fatal(err)
	}
	return filepath.Join(tree, "bin")
}

// clone makes a tree of the same files and links, which everybody may read.
func clone(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		there := filepath.Join(to, strings.TrimPrefix(path, from))
		switch {
		case entry.IsDir():
			return os.Mkdir(there, 0o755)
		case entry.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			return errors.Join(err, os.Symlink(target, there))
		case os.Link(path, there) == nil:
			return nil
		}
		return copyFile(path, there)
	})
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// Psycopg is a command that runs a script in Python, with psycopg to import; it is killed
// when ctx ends.
func Psycopg(ctx context.Context, tb testing.TB, script string, args ...string) *exec.Cmd {
	tb.Helper()
	python := os.Getenv("PYTHON")
	if python == "" {
		python = "python3"
	}
	asking, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	tag, err := exec.CommandContext(asking, python, "-c", `import sys; print("cp%d%d" % sys.version_info[:2])`).Output()
	if err != nil {
		tb.Fatalf("%s: %v", python, err)
	}
	cmd := exec.CommandContext(ctx, python, append([]string{"-c", script}, args...)...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+cached(tb, "psycopg", psycopgVersion, strings.TrimSpace(string(tag))), "PYTHONDONTWRITEBYTECODE=1")
	cmd.WaitDelay = time.Second
	return cmd
}
