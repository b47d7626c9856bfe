package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// gatehouse is the path of the binary under test. It is built without the race
// detector: it is a measuring instrument here, and its packages have race tests.
var gatehouse string

func TestMain(m *testing.M) {
	code, err := run(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		code = 1
	}
	os.Exit(code)
}

func run(tests func() int) (code int, err error) {
	dir, err := os.MkdirTemp("", "gatehouse-lab-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if gatehouse, err = rig.Build(context.Background(), dir); err != nil {
		return 0, err
	}
	return tests(), nil
}

// duration is how long the measured run takes.
func duration(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("GATEHOUSE_LAB_DURATION")
	if text == "" {
		return 15 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("$GATEHOUSE_LAB_DURATION: %v", err)
	}
	return d
}

// play is a "gatehouse lab propagation" with these arguments.
type play struct {
	*exec.Cmd
	out, err rig.Output
}

// patience is how much longer than its run a play may take.
const patience = 2 * time.Minute

func prepare(t *testing.T, length time.Duration, args ...string) *play {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), length+patience)
	t.Cleanup(cancel)
	p := &play{Cmd: exec.CommandContext(ctx, gatehouse, append([]string{"lab", "propagation"}, args...)...)}
	p.Stdout, p.Stderr = &p.out, &p.err
	p.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "NO_COLOR=") })
	p.Cancel = func() error { return p.Process.Signal(syscall.SIGINT) }
	p.WaitDelay = 10 * time.Second
	return p
}

// code runs the play to its end and returns its exit code.
func (p *play) code(t *testing.T) int {
	t.Helper()
	err := p.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0
}

// result reads what "-o json" printed.
func (p *play) result(t *testing.T) lab.Result {
	t.Helper()
	var r lab.Result
	if err := json.Unmarshal([]byte(p.out.String()), &r); err != nil {
		t.Fatalf("%v in:\n%s\nstandard error:\n%s", err, p.out.String(), p.err.String())
	}
	return r
}

// named returns the proxy of that name.
func named(t *testing.T, r lab.Result, name string) lab.Proxy {
	t.Helper()
	for _, p := range r.Proxies {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("no proxy %s in the result", name)
	return lab.Proxy{}
}
