package process

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
)

// fleet is "gatehouse fleet" over a directory.
type fleet struct {
	dir   string
	flags []string
	cmd   *exec.Cmd
	log   strings.Builder
}

func newFleet(t *testing.T, flags ...string) *fleet {
	t.Helper()
	f := &fleet{dir: t.TempDir(), flags: flags}
	f.write(t, nil)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(f.log.String())
		}
		for _, pid := range f.processes() { // they outlive their operator
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return f
}

func (f *fleet) state() string { return filepath.Join(f.dir, "state") }

// write makes the Proxies of these names the only ones. Those in open speak SOCKS5 and
// ask for nothing.
func (f *fleet) write(t *testing.T, names []string, open ...string) {
	t.Helper()
	text := "apiVersion: v1\nkind: Secret\nmetadata: {name: auth, namespace: default}\nstringData: {username: crawler, password: hunter2}\n"
	for _, name := range slices.Concat(names, open) {
		how := "auth: {secretRef: {name: auth}}"
		if slices.Contains(open, name) {
			how = "endpoint: {scheme: socks5}"
		}
		text += "---\napiVersion: egress.gatehouse.dev/v1alpha1\nkind: Proxy\nmetadata: {name: " + name + ", namespace: default}\n" +
			"spec: {mode: Managed, provider: process, " + how + "}\n"
	}
	config := filepath.Join(f.dir, "config")
	if err := os.MkdirAll(config, 0o700); err != nil {
		t.Fatal(err)
	}
	next := filepath.Join(f.dir, "next.yaml")
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(config, "all.yaml")); err != nil {
		t.Fatal(err)
	}
}

// start starts the operator, which ends with the test.
func (f *fleet) start(t *testing.T) {
	t.Helper()
	f.startTo(t, &f.log)
}

// startTo starts it with another place for its log.
func (f *fleet) startTo(t *testing.T, log io.Writer) {
	t.Helper()
	arguments := append([]string{
		"fleet", "--config", filepath.Join(f.dir, "config"), "--state-dir", f.state(),
		"--admin-address", "127.0.0.1:0", "--metrics-address", "127.0.0.1:0", "--lease-address", "127.0.0.1:0", "--allow-mass-delete",
	}, f.flags...)
	f.cmd = exec.CommandContext(t.Context(), filepath.Join(os.Getenv(programs), "gatehouse"), arguments...)
	f.cmd.Stdout, f.cmd.Stderr = log, log
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cmd := f.cmd
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
}

func (f *fleet) kill(t *testing.T) {
	t.Helper()
	if err := f.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = f.cmd.Wait()
}

// instance is what the fleet keeps of one.
type instance struct {
	Address, Scheme string
	Process         struct{ PID int }
}

// instances are those that the fleet has, by name.
func (f *fleet) instances() map[string]instance {
	all := make(map[string]instance)
	paths, _ := filepath.Glob(filepath.Join(f.state(), "process", "instances", "*", "instance.json"))
	for _, path := range paths {
		var one instance
		text, err := os.ReadFile(path)
		if err == nil && json.Unmarshal(text, &one) == nil && one.Process.PID != 0 {
			all[filepath.Base(filepath.Dir(path))] = one
		}
	}
	return all
}

// processes are those of all instances that there are.
func (f *fleet) processes() (pids []int) {
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environments {
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), "GATEHOUSE_INSTANCE="+f.state()+"/") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// serving waits until so many instances serve, and returns them.
func (f *fleet) serving(t *testing.T, it *target, count int) map[string]instance {
	t.Helper()
	var all map[string]instance
	until(t, fmt.Sprintf("%d proxies serve", count), func() bool {
		all = f.instances()
		for _, one := range all {
			if _, status := it.curl(t, one.proxy(one.Scheme, "hunter2")); status != "200" {
				return false
			}
		}
		return len(all) == count
	})
	return all
}

func (i instance) proxy(scheme, password string) string {
	return fmt.Sprintf("%s://crawler:%s@%s:3128", scheme, password, i.Address)
}

// until looks until something is so.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	over := time.After(2 * time.Minute)
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for !so() {
		select {
		case <-over:
			t.Fatalf("not within two minutes: %s", what)
		case <-again.C:
		}
	}
}

// distinct asserts that each instance, in each way, is seen at its address and that no
// two have the same.
func distinct(t *testing.T, it *target, all map[string]instance) {
	t.Helper()
	seen := make(map[string]bool)
	for name, one := range all {
		for _, way := range []struct {
			scheme string
			flags  []string
		}{{"http", nil}, {"http", []string{"--proxytunnel"}}, {"socks5", nil}, {"socks5h", nil}} {
			source, status := it.curl(t, one.proxy(way.scheme, "hunter2"), way.flags...)
			if source != one.Address || status != "200" {
				t.Errorf("%s by %s %s is seen as %q with status %q, want %q", name, way.scheme, way.flags, source, status, one.Address)
			}
		}
		seen[one.Address] = true
	}
	if len(seen) != len(all) {
		t.Errorf("%d instances have %d addresses", len(all), len(seen))
	}
}

// refused asserts that nobody gets through without the password.
func refused(t *testing.T, it *target, all map[string]instance) {
	t.Helper()
	before := it.asked.Load()
	for name, one := range all {
		if _, status := it.curl(t, one.proxy("http", "wrong")); status != "407" {
			t.Errorf("%s answers a wrong password with %q, want 407", name, status)
		}
		if source, _ := it.curl(t, one.proxy("socks5h", "wrong")); source != "" {
			t.Errorf("%s lets a wrong password through by SOCKS5", name)
		}
	}
	if after := it.asked.Load(); after != before {
		t.Errorf("the target was asked %d times without a password", after-before)
	}
}

// gone waits until the fleet has left nothing: no process, file, bridge or cable.
func (f *fleet) gone(t *testing.T) {
	t.Helper()
	var left []string
	defer func() {
		if len(left) > 0 {
			t.Logf("left are %q", left)
		}
	}()
	until(t, "nothing is left", func() bool {
		left, _ = filepath.Glob(filepath.Join(f.state(), "process", "*", "*"))
		for _, pid := range f.processes() {
			left = append(left, fmt.Sprintf("process %d", pid))
		}
		links, err := netlink.LinkList()
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range links {
			if name := link.Attrs().Name; name != "lo" {
				left = append(left, name)
			}
		}
		return len(left) == 0
	})
}

func TestNamespaces(t *testing.T) {
	if !alone(t) {
		return
	}
	it := newTarget(t, somewhere)
	f := newFleet(t, "--process-network", "on", "--process-allow-destinations", somewhere)
	f.write(t, []string{"a", "b", "c"})
	f.start(t)
	all := f.serving(t, it, 3)
	distinct(t, it, all)
	refused(t, it, all)

	f.kill(t)
	distinct(t, it, all) // nobody needs the operator to be served
	victim := slices.Sorted(maps.Keys(all))[0]
	if err := syscall.Kill(all[victim].Process.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	f.start(t)
	until(t, "the instance that died is made anew", func() bool {
		return f.instances()[victim].Process.PID != all[victim].Process.PID && f.instances()[victim].Process.PID != 0
	})
	again := f.serving(t, it, 3)
	distinct(t, it, again)
	for name, one := range again {
		if name != victim && one != all[name] {
			t.Errorf("%s is %+v now, and was %+v: it ran and must be left alone", name, one, all[name])
		}
	}

	f.write(t, nil)
	f.gone(t)
}

func TestLoopback(t *testing.T) {
	if !alone(t) {
		return
	}
	it := newTarget(t, "127.0.0.1")
	f := newFleet(t, "--process-allow-destinations", "127.0.0.1,"+somewhere)
	f.write(t, []string{"a", "b", "c"})
	f.start(t)
	all := f.serving(t, it, 3)
	distinct(t, it, all)
	refused(t, it, all)
	elsewhere := newTarget(t, somewhere)
	for _, one := range all {
		if source, status := elsewhere.curl(t, one.proxy("http", "hunter2")); source != somewhere || status != "200" {
			t.Errorf("what is not on loopback is reached from %q with status %q, want the machine's own address, %s", source, status, somewhere)
		}
	}
	f.write(t, nil)
	f.gone(t)
}
