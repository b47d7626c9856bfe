package process

import (
	"fmt"
	"net"
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

// standIn, as the first argument, makes this program a proxy that accepts connections
// and says nothing, once the file that is the second argument is not there.
const standIn = "stand-in"

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 2 && os.Args[1] == standIn:
		listen(os.Args[2], os.Args[3:])
	case os.Getenv(operator) != "":
		operate()
	default:
		os.Exit(m.Run())
	}
}

func listen(hold string, arguments []string) {
	for {
		if _, err := os.Lstat(hold); err != nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	address := ""
	for i, a := range arguments {
		if a == "--listen" {
			address = arguments[i+1]
		}
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for {
		if conn, err := l.Accept(); err == nil {
			_ = conn.Close()
		}
	}
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
