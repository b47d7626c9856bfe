package proxy

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// buffer is a log that a test reads while a program writes.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func shell(script string, log *buffer) Command {
	return Command{Name: "prog", Path: "/bin/sh", Args: []string{"-c", script}, Log: log}
}

func start(t *testing.T, c Command) *Process {
	t.Helper()
	p, err := c.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // kill at once
		_ = p.Stop(ctx, unix.SIGKILL)
	})
	return p
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("an error of several lines: %q", err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q, want %q in it", err, part)
		}
	}
}

var errNotYet = errors.New("not yet")

func never(context.Context) error { return errNotYet }

// logged makes a test wait for what a program writes.
func logged(log *buffer, text string) func(context.Context) error {
	return func(context.Context) error {
		if strings.Contains(log.String(), text) {
			return nil
		}
		return errNotYet
	}
}

func TestAProgramThatDiesSaysWhy(t *testing.T) {
	c := shell("echo starting; echo cannot bind >&2; echo giving up; exit 3", new(buffer))
	c.Noise = func(line string) bool { return line == "giving up" }
	p := start(t, c)

	err := p.Await(within(t, 10*time.Second), never)

	wantError(t, err, "prog ended with exit status 3: cannot bind")
	if again := p.Ended(); !errors.Is(again, err) {
		t.Errorf("Ended says %v", again)
	}
	if err := p.Signal(unix.SIGHUP); err == nil {
		t.Error("a signal to a program that has ended is no error")
	}
}

func TestAProgramThatWritesNothingSaysSo(t *testing.T) {
	p := start(t, shell("exit 0", new(buffer)))

	<-p.Exited()

	wantError(t, p.Ended(), "prog ended and wrote nothing")
}

func TestAProgramThatIsNeverReady(t *testing.T) {
	log := new(buffer)
	p := start(t, shell("echo loading; exec sleep 300", log))
	if err := p.Await(within(t, 10*time.Second), logged(log, "loading")); err != nil {
		t.Fatal(err)
	}

	err := p.Await(within(t, 20*time.Millisecond), never)

	wantError(t, err, "prog does not get ready: not yet; its log ends: loading")
	if p.Ended() != nil {
		t.Errorf("it runs, but: %v", p.Ended())
	}
}

func TestAwaitReturnsOnceReady(t *testing.T) {
	p := start(t, shell("exec sleep 300", new(buffer)))
	calls := 0

	err := p.Await(within(t, 10*time.Second), func(context.Context) error {
		if calls++; calls < 3 {
			return errNotYet
		}
		return nil
	})

	if err != nil || calls != 3 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

func TestStopLetsAProgramFinish(t *testing.T) {
	log := new(buffer)
	p := start(t, shell(`trap "echo done; exit 0" QUIT; echo up; while :; do sleep 0.01; done`, log))
	if err := p.Await(within(t, 10*time.Second), logged(log, "up")); err != nil {
		t.Fatal(err)
	}

	if err := p.Stop(within(t, 10*time.Second), unix.SIGQUIT); err != nil {
		t.Fatal(err)
	}

	if last := p.LastLine(); last != "done" {
		t.Errorf("its last line is %q", last)
	}
	if err := p.Stop(within(t, 10*time.Second), unix.SIGQUIT); err != nil {
		t.Errorf("the second time: %v", err)
	}
}

func TestStopKillsTheGroupWhenTimeIsOver(t *testing.T) {
	log := new(buffer)
	p := start(t, shell(`trap "" TERM; sleep 300 & echo "child $!"; while :; do sleep 1; done`, log))
	if err := p.Await(within(t, 10*time.Second), logged(log, "child ")); err != nil {
		t.Fatal(err)
	}
	child := childOf(t, log)

	err := p.Stop(within(t, 20*time.Millisecond), unix.SIGTERM)

	wantError(t, err, "prog did not end by terminated in time and was killed")
	gone(t, child)
}

// Nginx's workers outlive a master that is killed.
func TestWhatAProgramLeavesBehindIsKilled(t *testing.T) {
	log := new(buffer)
	p := start(t, shell(`sleep 300 & echo "child $!"; kill -KILL $$`, log))

	<-p.Exited()

	wantError(t, p.Ended(), "prog ended with signal: killed")
	gone(t, childOf(t, log))
}

func childOf(t *testing.T, log *buffer) int {
	t.Helper()
	_, text, _ := strings.Cut(log.String(), "child ")
	child, err := strconv.Atoi(strings.Fields(text)[0])
	if err != nil {
		t.Fatal(err)
	}
	return child
}

// gone waits until a process runs no more; a zombie may wait for its new parent.
func gone(t *testing.T, pid int) {
	t.Helper()
	for ctx := within(t, 10*time.Second); ; {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("process %d is still there: %s", pid, stat)
		}
	}
}

func TestRun(t *testing.T) {
	log := new(buffer)
	cpu, err := shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; printf 'all\\n\\nwell'", log).Run(within(t, time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if log.String() != "all\nwell\n" || cpu <= 0 {
		t.Errorf("logged %q, took %s", log.String(), cpu)
	}
	_, err = shell("echo unknown directive; false", log).Run(within(t, time.Minute))
	wantError(t, err, "prog ended with exit status 1: unknown directive")
	_, err = shell("exec sleep 300", log).Run(within(t, 20*time.Millisecond))
	wantError(t, err, "was killed")
	_, err = Command{Name: "prog", Path: "/nowhere/prog"}.Run(t.Context())
	wantError(t, err, "start prog", "/nowhere/prog", "no such file")
}

func TestALongLineIsCutNotLost(t *testing.T) {
	log := new(buffer)
	if _, err := shell("head -c 10000 /dev/zero | tr '\\0' x", log).Run(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "x"); n != 10000 {
		t.Errorf("%d of 10000 characters logged", n)
	}
	if longest := len(strings.Split(log.String(), "\n")[0]); longest != maxLine {
		t.Errorf("a line of %d", longest)
	}
}

func TestAProgramThatCannotStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prog")
	if err := os.WriteFile(path, []byte("not a program"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := Command{Name: "prog", Path: path}.Start()
	wantError(t, err, "start prog", "exec format error")
}
