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

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

const (
	// programs, in the environment, is where the binaries are.
	programs = "GATEHOUSE_TEST_PROGRAMS"
	// inside, in the environment, says that this is the process with its own network.
	inside = "GATEHOUSE_TEST_INSIDE"
)

func TestMain(m *testing.M) {
	if os.Getenv(programs) != "" {
		os.Exit(m.Run())
	}
	dir, err := os.MkdirTemp("", "fleet")
	if err == nil { // processes in namespaces are of a user without rights
		err = errors.Join(build(dir), os.Chmod(dir, 0o755)) //nolint:gosec // as above
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = os.Setenv(programs, dir)
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func build(dir string) error {
	if _, err := rig.Build(context.Background(), dir); err != nil {
		return err
	}
	cmd := exec.CommandContext(context.Background(), "go", "build", "-o", filepath.Join(dir, "gatehouse-forward"),
		"github.com/gatehouse-proxy/gatehouse/cmd/gatehouse-forward")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build gatehouse-forward: %w\n%s", err, out)
	}
	return nil
}

// somewhere is an address of the Internet, as the instances see it.
const somewhere = "203.0.113.9"

// alone runs the test in a process with a network of its own, and says whether this is it.
func alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inside) == t.Name() {
		lo, err := netlink.LinkByName("lo")
		if err == nil {
			err = netlink.LinkSetUp(lo)
		}
		if err == nil {
			var address *netlink.Addr
			if address, err = netlink.ParseAddr(somewhere + "/32"); err == nil {
				err = netlink.AddrAdd(lo, address)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inside+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v:\n%s", err, out)
	}
	return false
}
