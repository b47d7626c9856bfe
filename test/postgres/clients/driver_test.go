package clients_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	pgtest "github.com/gatehouse-proxy/gatehouse/test/postgres"
)

// driver is a program that plays the cases.
type driver struct {
	name string
	// command returns how it is run, without the arguments of a play.
	command func(ctx context.Context, t *testing.T) *exec.Cmd
	// foreign drivers need a language of their own, which "make clients" brings.
	foreign bool
	// lacks are cases that the driver has no interface for.
	lacks []string
	// instead is what the driver says in its own way.
	instead []line
}

// libpq tells no SQLSTATE when it cannot connect.
var ofLibpq = line{Case: "password", Error: `password authentication failed for user "a.b"`}

var drivers = []driver{
	{name: "psql", command: script("/bin/bash", "psql/client.sh"), instead: []line{ofLibpq}},
	{name: "pgx", command: program("pgx")},
	{name: "psycopg", command: psycopg, instead: []line{ofLibpq}},
	{
		name: "lib-pq", foreign: true, command: program("lib-pq"), lacks: []string{"copy out"},
		instead: []line{{Case: "restart", Error: "bad connection"}},
	},
	{name: "asyncpg", foreign: true, command: asyncpg, instead: []line{
		{Case: "cancel", Value: "cancelled"},
		{Case: "restart", SQLState: "08003", Error: "terminating connection due to administrator command"},
	}},
	{name: "pgjdbc", foreign: true, command: pgjdbc},
	{name: "node-postgres", foreign: true, command: node},
	{name: "tokio-postgres", foreign: true, command: tokio},
}

// clientsVariable names the drivers to play, all of them where it says "all".
const clientsVariable = "GATEHOUSE_CLIENTS"

// chosen are the drivers that the environment names: by default those that need nothing
// but what the other tests need.
func chosen(t *testing.T) []driver {
	t.Helper()
	names := strings.FieldsFunc(os.Getenv(clientsVariable), func(r rune) bool { return r == ',' })
	var out []driver
	for _, d := range drivers {
		if slices.Contains(names, "all") || slices.Contains(names, d.name) || len(names) == 0 && !d.foreign {
			out = append(out, d)
		}
	}
	if len(out) == 0 {
		t.Fatalf("$%s names no driver: %q", clientsVariable, names)
	}
	return out
}

func script(interpreter, path string) func(context.Context, *testing.T) *exec.Cmd {
	return func(ctx context.Context, t *testing.T) *exec.Cmd {
		t.Helper()
		return exec.CommandContext(ctx, interpreter, path)
	}
}

// program builds a driver of this module.
func program(name string) func(context.Context, *testing.T) *exec.Cmd {
	return func(ctx context.Context, t *testing.T) *exec.Cmd {
		t.Helper()
		path := filepath.Join(t.TempDir(), name)
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", path, "./"+name).CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", name, err, out)
		}
		return exec.CommandContext(ctx, path)
	}
}

func psycopg(ctx context.Context, t *testing.T) *exec.Cmd {
	t.Helper()
	text, err := os.ReadFile("psycopg/client.py")
	if err != nil {
		t.Fatal(err)
	}
	return pgtest.Psycopg(ctx, t, string(text))
}

func asyncpg(ctx context.Context, t *testing.T) *exec.Cmd {
	t.Helper()
	python := cmp.Or(os.Getenv("PYTHON"), "python3")
	tag, err := exec.CommandContext(ctx, python, "-c", `import sys; print("cp%d%d" % sys.version_info[:2])`).Output()
	if err != nil {
		t.Fatalf("%s: %v", python, err)
	}
	cmd := exec.CommandContext(ctx, python, "asyncpg/client.py")
	cmd.Env = append(os.Environ(), "PYTHONPATH="+fetched(t, "asyncpg/*/"+strings.TrimSpace(string(tag))), "PYTHONDONTWRITEBYTECODE=1")
	return cmd
}

func pgjdbc(ctx context.Context, t *testing.T) *exec.Cmd {
	t.Helper()
	classes, driver := t.TempDir(), fetched(t, "java/postgresql-*.jar")
	compile := exec.CommandContext(ctx, "java", "-jar", fetched(t, "java/ecj-*.jar"), "-17", "-cp", driver, "-d", classes, "pgjdbc/Client.java")
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("compile pgjdbc/Client.java: %v\n%s", err, out)
	}
	return exec.CommandContext(ctx, "java", "-Xmx256m", "-cp", driver+":"+classes, "Client")
}

// node runs the program beside its packages, where it looks for them. These are cached by
// the files that name them.
func node(ctx context.Context, t *testing.T) *exec.Cmd {
	t.Helper()
	dir, named := t.TempDir(), sha256.New()
	for _, name := range []string{"package.json", "package-lock.json", "client.js"} {
		text, err := os.ReadFile("node-postgres/" + name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if name != "client.js" {
			named.Write(text)
		}
	}
	packages := fetched(t, fmt.Sprintf("node-postgres/%.16x/node_modules", named.Sum(nil)[:8]))
	if err := os.Symlink(packages, dir+"/node_modules"); err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(ctx, fetched(t, "node/*/bin/node"), dir+"/client.js")
}

func tokio(ctx context.Context, t *testing.T) *exec.Cmd {
	t.Helper()
	return exec.CommandContext(ctx, fetched(t, "cargo/debug/client"))
}

// fetched returns the path of what "make clients" has put into the cache: the newest that
// has the pattern.
func fetched(t *testing.T, pattern string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(cache, "gatehouse", "clients", pattern))
	if err != nil || len(paths) == 0 {
		t.Fatalf("the cache has no %s: run \"make clients\"; %v", pattern, err)
	}
	return paths[len(paths)-1]
}
