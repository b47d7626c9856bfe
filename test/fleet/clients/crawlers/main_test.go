package crawlers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	// clientsVariable names the clients to run, all of them where it says "all".
	clientsVariable = "GATEHOUSE_CLIENTS"
)

// root is the directory of the repository, library the one of Python's client.
var root, library = absolute("../../../.."), absolute("../../../../clients/python")

func absolute(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		panic(err)
	}
	return path
}

func TestMain(m *testing.M) {
	if os.Getenv(programs) != "" {
		os.Exit(m.Run())
	}
	dir, err := os.MkdirTemp("", "crawlers")
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

// chosen says whether the environment names a client; without it those are chosen that
// need nothing.
func chosen(name string, foreign bool) bool {
	names := strings.FieldsFunc(os.Getenv(clientsVariable), func(r rune) bool { return r == ',' })
	return slices.Contains(names, "all") || slices.Contains(names, name) || len(names) == 0 && !foreign
}

// alone runs the test in a process with a network of its own, whose Internet is these
// addresses, and says whether this is it.
func alone(t *testing.T, addresses ...string) bool {
	t.Helper()
	if os.Getenv(inside) == t.Name() {
		lo, err := netlink.LinkByName("lo")
		if err == nil {
			err = netlink.LinkSetUp(lo)
		}
		for _, a := range addresses {
			address, parseErr := netlink.ParseAddr(a + "/32")
			if err = errors.Join(err, parseErr); err == nil {
				err = netlink.AddrAdd(lo, address)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=15m")
	cmd.Env = append(os.Environ(), inside+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v:\n%s", err, out)
	}
	return false
}

// packages are those of hack/fetch-crawlers.sh.
func packages(ctx context.Context, t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(ctx, filepath.Join(root, "hack", "fetch-crawlers.sh")).Output()
	if err != nil {
		t.Fatalf("hack/fetch-crawlers.sh: %v", err)
	}
	path, _, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	return path
}

// python returns a command of Python with these directories in its path. What the
// environment says of proxies must not matter.
func python(ctx context.Context, path []string, arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, cmp.Or(os.Getenv("PYTHON"), "python3"), arguments...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+strings.Join(path, ":"), "PYTHONDONTWRITEBYTECODE=1",
		"http_proxy=http://127.0.0.1:1", "https_proxy=http://127.0.0.1:1", "no_proxy=*")
	return cmd
}
