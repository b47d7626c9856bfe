package proxy

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var prog = Program{
	Name: "gatehouse-test-prog", Variable: "GATEHOUSE_PROG", Cached: "prog/1.2/prog",
	Get:         "on Debian, apt-get install prog",
	VersionFlag: "-v", VersionForm: regexp.MustCompile(`version ([\d.]+)`),
}

// script writes an executable shell script and returns its path.
func script(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	named := script(t, dir+"/mine", "")
	inPath := script(t, dir+"/path/"+prog.Name, "")
	cached := script(t, dir+"/cache/gatehouse/"+prog.Cached, "")
	notExecutable := dir + "/text"
	if err := os.WriteFile(notExecutable, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, variable, path, cache, want, err string }{
		{"the variable first", named, dir + "/path", dir + "/cache", named, ""},
		{"then PATH", "", dir + "/path", dir + "/cache", inPath, ""},
		{"then the cache", "", "/nowhere", dir + "/cache", cached, ""},
		{"a wrong variable", dir + "/none", dir + "/path", dir + "/cache", "", `$GATEHOUSE_PROG is "` + dir + `/none": no such file`},
		{"no program", notExecutable, dir + "/path", dir + "/cache", "", "permission denied; name an executable"},
		{"nowhere", "", "/nowhere", "/nowhere", "", "gatehouse-test-prog is not installed: it is not in PATH or /usr/sbin; get it: on Debian, apt-get install prog, or name one in $GATEHOUSE_PROG"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("GATEHOUSE_PROG", c.variable)
			t.Setenv("PATH", c.path)
			t.Setenv("XDG_CACHE_HOME", c.cache)
			got, err := prog.Find()
			if got != c.want {
				t.Errorf("found %q, want %q (%v)", got, c.want, err)
			}
			if c.err != "" {
				wantError(t, err, c.err)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	dir := t.TempDir()
	ctx := within(t, time.Minute)
	if got, err := prog.Version(ctx, script(t, dir+"/good", "echo prog version 1.22.1 >&2")); err != nil || got != "1.22.1" {
		t.Errorf("%q, %v", got, err)
	}
	_, err := prog.Version(ctx, script(t, dir+"/other", "echo hello; echo you"))
	wantError(t, err, dir+"/other", `says "hello"`, "name a working one in $GATEHOUSE_PROG")
	_, err = prog.Version(ctx, script(t, dir+"/bad", "exit 9"))
	wantError(t, err, dir+"/bad", "exit status 9", "name a working one in $GATEHOUSE_PROG")
}

// A program that does not say its version is ended, with what it has started, and what
// it writes without end is not kept.
func TestVersionOfAProgramThatDoesNotEnd(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"hangs":  "sleep 1000 & echo $! > " + dir + "/child; wait",
		"floods": "echo $$ > " + dir + "/child; exec yes",
	} {
		t.Run(name, func(t *testing.T) {
			path := script(t, filepath.Join(dir, name), text)
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			if version, err := prog.Version(ctx, path); err == nil {
				t.Errorf("version %q", version)
			}
			child, err := os.ReadFile(dir + "/child")
			if err != nil {
				t.Fatal(err)
			}
			gone := func() bool {
				state, err := os.ReadFile("/proc/" + strings.TrimSpace(string(child)) + "/stat")
				return err != nil || strings.Contains(string(state), ") Z ")
			}
			for deadline := time.Now().Add(10 * time.Second); !gone(); time.Sleep(pollEvery) {
				if time.Now().After(deadline) {
					t.Fatal("what it has started is still there")
				}
			}
		})
	}
}
