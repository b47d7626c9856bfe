package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// forward, in the environment, is the real program.
const forward = "GATEHOUSE_TEST_FORWARD"

func TestMain(m *testing.M) {
	if os.Getenv(operator) != "" {
		operate()
	}
	if os.Getenv(forward) != "" { // it is built already
		os.Exit(m.Run())
	}
	dir, err := os.MkdirTemp("", "forward")
	if err == nil {
		program := filepath.Join(dir, "gatehouse-forward")
		_ = os.Setenv(forward, program)
		err = errors.Join(build(program), os.Chmod(dir, 0o755)) //nolint:gosec // for users without rights
	}
	code := 1
	if err == nil {
		code = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, err)
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func build(program string) error {
	const longest = 8 * time.Minute // with nothing cached
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, "github.com/gatehouse-proxy/gatehouse/cmd/gatehouse-forward")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build gatehouse-forward: %w\n%s", err, out)
	}
	return nil
}

// script makes a program that becomes the real one as soon as there is no file hold.
func script(path, hold string) error {
	text := "#!/bin/sh\nwhile [ -e '" + hold + "' ]; do sleep 0.01; done\nexec '" + os.Getenv(forward) + "' \"$@\"\n"
	return os.WriteFile(path, []byte(text), 0o755)
}

// alone runs the test in a network namespace of its own, in a process of its own, and
// says whether this is it.
func alone(t *testing.T) bool {
	t.Helper()
	const inside = "GATEHOUSE_TEST_ALONE"
	if os.Getenv(inside) != "" {
		lo, err := netlink.LinkByName("lo")
		if err == nil {
			err = netlink.LinkSetUp(lo)
		}
		if err != nil {
			t.Fatal(err)
		}
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inside+"=yes")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v:\n%s", err, out)
	}
	return false
}

// clean asserts that a directory has left nothing on this machine: no process, no link,
// no file but its own.
func clean(t *testing.T, dir string) {
	t.Helper()
	for one, of := range marked() {
		if strings.HasPrefix(of, dir+"/") {
			t.Errorf("process %d is left, of %s", one.PID, of)
		}
	}
	links, err := netlink.LinkList()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("GATEHOUSE_TEST_ALONE") != "" && len(links) != 1 {
		for _, l := range links {
			t.Errorf("there is the link %s", l.Attrs().Name)
		}
	}
	files, err := filepath.Glob(dir + "/*/*")
	if err != nil || len(files) > 0 {
		t.Errorf("there are the files %q, %v", files, err)
	}
}

// killAll ends what a failed test left.
func killAll(dir string) {
	for one, of := range marked() {
		if strings.HasPrefix(of, dir+"/") {
			_ = one.signal(unix.SIGKILL)
		}
	}
}

func request(cluster, uid string) provider.CreateRequest {
	return provider.CreateRequest{
		Name: provider.NameFromUID(uid), Cluster: cluster, UID: uid, Hash: strings.Repeat("0123456789abcdef", 4),
		Namespace: "default", Proxy: "a", Port: 3128, Scheme: "http",
		Credentials: provider.Credentials{Username: "crawler", Password: secret},
	}
}
