package kill_test

import (
	"context"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// gatehouse is the real binary, built once.
var gatehouse = sync.OnceValues(func() (string, error) { return rig.Build(context.Background(), programs) })

// patience is how long a real process may take; it only ends what would never.
const patience = 2 * time.Minute

// binary is a fleet that is only ever killed.
type binary struct {
	test      *testing.T
	arguments []string
	process   *exec.Cmd // nil while none runs
	log       rig.Output
}

// newBinary is one over fakegce that looks for orphans all the time. It ends with the test.
func newBinary(t *testing.T, arguments ...string) *binary {
	t.Helper()
	b := &binary{test: t, arguments: append([]string{
		"fleet", "--providers", "gcp", "--gcp-project", project, "--gcp-read-operations=true",
		"--gc-interval", "1s", "--gc-min-age", "1s", "--admin-address", "127.0.0.1:0", "--metrics-address", "127.0.0.1:0", "--lease-address", "127.0.0.1:0",
	}, arguments...)}
	t.Cleanup(func() {
		if b.process != nil {
			b.kill()
		}
		if t.Failed() {
			t.Log(b.log.String())
		}
	})
	return b
}

func (b *binary) start() {
	b.test.Helper()
	program, err := gatehouse()
	if err != nil {
		b.test.Fatal(err)
	}
	b.process = exec.Command(program, b.arguments...)
	b.process.Stdout, b.process.Stderr = &b.log, &b.log
	if err := b.process.Start(); err != nil {
		b.test.Fatal(err)
	}
}

// kill gives it no time for anything.
func (b *binary) kill() {
	_ = b.process.Process.Kill()
	_ = b.process.Wait()
	b.process = nil
}

// eventually waits until it is so.
func eventually(t *testing.T, what string, so func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := so()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within %s: %v", what, patience, err)
		case <-tick.C:
		}
	}
}
