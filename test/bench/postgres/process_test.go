package postgres_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// process is one that ends with the benchmark.
type process struct {
	pid int
	log *rig.Output
}

// launch starts a program on some processors, "" for all; as nobody, if this is root,
// where unprivileged is set.
func launch(b *testing.B, cpus string, unprivileged bool, name string, args ...string) process {
	b.Helper()
	if cpus != "" {
		name, args = "taskset", append([]string{"-c", cpus, name}, args...)
	}
	cmd := exec.CommandContext(context.WithoutCancel(b.Context()), name, args...)
	p := process{log: new(rig.Output)}
	cmd.Stdout, cmd.Stderr, cmd.Dir = p.log, p.log, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if unprivileged && os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = nobody(b)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	p.pid = cmd.Process.Pid
	return p
}

func nobody(b *testing.B) *syscall.Credential {
	b.Helper()
	who, err := user.Lookup("nobody")
	if err != nil {
		b.Fatal(err)
	}
	uid, _ := strconv.Atoi(who.Uid)
	gid, _ := strconv.Atoi(who.Gid)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// listens waits until the process accepts.
func (p process) listens(b *testing.B, address string) {
	b.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); ; <-tick.C {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("%s: %v\n%s", address, err, p.log)
		}
	}
}

// cpu is what all threads have used, in seconds; 0 for no process.
func (p process) cpu(b *testing.B) float64 {
	b.Helper()
	if p.pid == 0 {
		return 0
	}
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.pid))
	var sum float64
	for _, path := range threads {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		var used float64
		if _, err := fmt.Sscan(string(text), &used); err != nil {
			b.Fatal(err)
		}
		sum += used / 1e9
	}
	return sum
}

// resident is its memory in bytes.
func (p process) resident(b *testing.B) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		b.Fatal(err)
	}
	_, line, _ := strings.Cut(string(status), "VmRSS:")
	var kib float64
	if _, err := fmt.Sscan(line, &kib); err != nil {
		b.Fatal(err)
	}
	return kib * 1024
}

func (p process) descriptors(b *testing.B) float64 {
	b.Helper()
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.pid))
	if err != nil {
		b.Fatal(err)
	}
	return float64(len(all))
}

// freeAddress is one on loopback that nothing listens on.
func freeAddress(b *testing.B) (address, port string) {
	b.Helper()
	n, err := rig.FreePort(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	port = strconv.Itoa(int(n))
	return net.JoinHostPort("127.0.0.1", port), port
}
