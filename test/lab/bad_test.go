package lab

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Bad input is refused before anything runs: in one line each, with exit code 2.
func TestBadInput(t *testing.T) {
	for name, c := range map[string]struct {
		script string // written to script.yaml
		args   string
		want   []string
	}{
		"unknown event":        {"steps:\n- ad: 10.0.1.1\n", "--script script.yaml", []string{`script.yaml:2: `, `add`}},
		"absent backend":       {"steps:\n- add: 10.0.1.1\n- remove: 10.0.1.2\n", "--script script.yaml", []string{`script.yaml:3: `, `10.0.1.2`}},
		"overlapping names":    {"steps:\n- add: a\n- add: a\n", "--script script.yaml", []string{`script.yaml:3: `}},
		"negative time":        {"every: -1s\nsteps:\n- add: a\n", "--script script.yaml", []string{`script.yaml:1: `, `-1s`}},
		"reload of a stream":   {"steps:\n- add: a\n- reload: model:stream\n", "--script script.yaml --proxies model:stream", []string{`script.yaml:3: `, `model:stream`}},
		"too many steps":       {"steps:\n" + strings.Repeat("- add: a\n- remove: a\n", 50_000), "--script script.yaml --proxies envoy-xds --duration 60s", []string{`script.yaml:`, `at most 2000`}},
		"no script":            {"", "--script absent.yaml", []string{`--script`, `absent.yaml`}},
		"unknown script":       {"", "--script roling-update", []string{`--script "roling-update"`, `gatehouse lab list`}},
		"unknown proxy":        {"", "--proxies ngin", []string{`--proxies: "ngin"`, `did you mean nginx?`}},
		"unknown parameter":    {"", "--proxies nginx:retry=off", []string{`"retry=off"`, `retries=off`}},
		"unknown model":        {"", "--proxies model:strem", []string{`model:strem`, `stream`}},
		"proxy named twice":    {"", "--proxies nginx,nginx", []string{`twice`}},
		"rate":                 {"", "--proxies nginx --rate 0", []string{`--rate 0`, `from 1 to`}},
		"timeout":              {"", "--proxies nginx --timeout 1ms", []string{`--timeout 1ms`}},
		"too short":            {"every: 5s\nsteps:\n- add: a\n- add: b\n", "--script script.yaml --duration 1s", []string{`script.yaml:`, `1s`}},
		"too short to tell":    {"", "--proxies envoy-xds --duration 10ms", []string{`--duration 10ms`, `1s or more`}},
		"script is no file":    {"", "--script .", []string{`--script "."`, `regular file`}},
		"no saved run":         {"", "--from absent.json", []string{`--from "absent.json"`, `name a file`}},
		"saved run is none":    {"{}", "--from script.yaml", []string{`--from "script.yaml"`, `version 0, not 1`}},
		"saved run is garbled": {`{"version": 1} }`, "--from script.yaml", []string{`--from "script.yaml"`, `after top-level value`}},
		"saved run is empty":   {`{"version": 1, "timeline": {"length": 5}}`, "--from script.yaml", []string{`proxies: there is none`}},
		"flags beside a run":   {`{"version": 1}`, "--from script.yaml --rate 7", []string{`--rate has no effect with --from`}},
		"seed of other models": {"", "-o seed --proxies model:stream", []string{`-o seed`, `model:stream,model:reload`}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if c.script != "" {
				if err := os.WriteFile(filepath.Join(dir, "script.yaml"), []byte(c.script), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			p := prepare(t, 0, strings.Fields(c.args)...)
			p.Dir = dir
			if code := p.code(t); code != 2 || p.out.String() != "" {
				t.Errorf("exit code %d, standard output %q; want 2 and nothing", code, p.out.String())
			}
			for _, want := range c.want {
				if !strings.Contains(p.err.String(), want) {
					t.Errorf("standard error lacks %q: %s", want, p.err.String())
				}
			}
			if strings.Count(p.err.String(), "\n") != 1 {
				t.Errorf("want one line: %s", p.err.String())
			}
		})
	}
}

// A program that is not installed is skipped by name, with the remedy, and the others
// run; only --check makes it a failure.
func TestMissingProgram(t *testing.T) {
	args := []string{"--duration", "3s", "--proxies", "model:reload,nginx,envoy-xds", "-o", "json"}
	p := prepare(t, 3*time.Second, args...)
	p.Env = append(p.Env, "GATEHOUSE_NGINX=/nowhere/nginx")
	if code := p.code(t); code != 0 {
		t.Errorf("exit code %d: %s", code, p.err.String())
	}
	r := p.result(t)
	if skipped := named(t, r, "nginx").Skipped; !strings.Contains(skipped, "/nowhere/nginx") {
		t.Errorf("skipped: %q", skipped)
	}
	counted(t, r, named(t, r, "envoy-xds"))
	checked := prepare(t, 0, "--check", "--proxies", "nginx")
	checked.Env = p.Env
	if code := checked.code(t); code != 1 || !strings.Contains(checked.err.String(), "nginx was skipped") {
		t.Errorf("with --check: exit code %d: %s", code, checked.err.String())
	}
}

// A program that never gets ready, or dies at once, fails by name; the others run.
func TestProgramThatDiesAtOnce(t *testing.T) {
	program := filepath.Join(t.TempDir(), "nginx")
	script := "#!/bin/sh\ncase $1 in -v) echo 'nginx version: nginx/1.0.0' >&2;; *) echo 'no room today' >&2; exit 3;; esac\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	p := prepare(t, 3*time.Second, "--duration", "3s", "--proxies", "nginx,envoy-xds", "-o", "json")
	p.Env = append(p.Env, "GATEHOUSE_NGINX="+program)
	if code := p.code(t); code != 1 || !strings.Contains(p.err.String(), "proxy nginx failed: ") || !strings.Contains(p.err.String(), "no room today") {
		t.Errorf("exit code %d: %s", code, p.err.String())
	}
	r := p.result(t)
	counted(t, r, named(t, r, "envoy-xds"))
}

// A proxy that dies in the middle fails by name, with what was measured until then.
func TestProxyThatDiesInTheMiddle(t *testing.T) {
	p := prepare(t, 6*time.Second, "--duration", "6s", "--proxies", "envoy-xds,envoy-file", "-o", "json")
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	var envoy int
	within(t, time.Minute, "the backends of a leg run beside its Envoy", func() bool {
		all := descendants(t)
		for pid, command := range all {
			if strings.Contains(command, "envoy --") || strings.Contains(command, "/envoy ") {
				envoy = pid
			}
		}
		return envoy > 0 && strings.Contains(p.err.String(), "0 s of 6 s")
	})
	if err := syscall.Kill(envoy, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err == nil {
		t.Error("exit code 0")
	}
	failed := 0
	for _, proxy := range p.result(t).Proxies {
		if proxy.Failed == "" {
			counted(t, p.result(t), proxy)
			continue
		}
		failed++
		if !strings.HasPrefix(proxy.Failed, "envoy ended with signal: killed") || strings.Contains(proxy.Failed, "\n") {
			t.Errorf("%s failed: %s; want one line that begins with how it ended", proxy.Name, proxy.Failed)
		}
		if proxy.Requests == nil || !strings.Contains(p.err.String(), "proxy "+proxy.Name+" failed: ") {
			t.Errorf("%s: %v requests; standard error: %s", proxy.Name, proxy.Requests, p.err.String())
		}
	}
	if failed != 1 {
		t.Errorf("%d proxies failed, want the one that was killed", failed)
	}
}
