package host

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// childVariable makes this test binary a Supervisor that can be killed.
const childVariable = "GATEHOUSE_TEST_CHILD"

type childOptions struct {
	Envoy, StateDir, XDSSocket string
	KeepProxies                bool
	// Serve has the child be the control plane too.
	Serve []resource
}

// childMain runs one Gateway, prints the pid of its Envoy once that is ready, and
// waits until standard input ends, as it does when the test ends in whatever way.
func childMain() {
	var o childOptions
	if err := json.Unmarshal([]byte(os.Getenv(childVariable)), &o); err != nil {
		panic(err)
	}
	if len(o.Serve) > 0 {
		if _, err := serveADS(o.XDSSocket, o.Serve); err != nil {
			panic(err)
		}
	}
	s, err := New(context.Background(), Options{
		Envoy: o.Envoy, StateDir: o.StateDir, XDSSocket: o.XDSSocket, KeepProxies: o.KeepProxies,
		Observe: func(e Event) {
			if e.Kind == Ready {
				fmt.Println(e.PID)
			}
		},
	})
	if err != nil {
		panic(err)
	}
	s.Ensure([]model.Gateway{gateway(edge)})
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// child starts a Supervisor in a process of its own, and returns that and the pid of its Envoy.
func (r *rig) child(t *testing.T, keep bool, serve ...resource) (supervisor *exec.Cmd, envoy int) {
	t.Helper()
	options, err := json.Marshal(childOptions{r.options.Envoy, r.options.StateDir, r.options.XDSSocket, keep, serve})
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), childVariable+"="+string(options))
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the child prints no pid: %v", err)
	}
	if _, err := fmt.Sscan(line, &envoy); err != nil {
		t.Fatal(err)
	}
	killLater(t, envoy)
	return cmd, envoy
}

// kill ends a child as SIGKILL does, and waits.
func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its error says that it was killed
}
