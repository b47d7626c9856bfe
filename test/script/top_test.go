package script

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/admin/fleetapi"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/explain"
)

// topOf is 'gatehouse fleet top' of a fleet that answers until stop is called.
func topOf(t *testing.T, args ...string) (top *exec.Cmd, stop func()) {
	t.Helper()
	address, stop, err := serveFleet(func(now time.Time) fleetapi.Options {
		l := leased{crawlers{now}}
		var n uint64
		return fleetapi.Options{Shell: l, Uses: l, Requests: func() explain.Requests { n++; return explain.Requests{Granted: 100 * n, Refused: n} }}
	})
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	top = exec.CommandContext(t.Context(), self)
	top.Args = append([]string{"gatehouse", "fleet", "top", "--admin-address", address, "--interval", "100ms"}, args...)
	top.Env = append(os.Environ(), "LANG=C.UTF-8", "TERM=xterm", "TZ=UTC", "NO_COLOR=1")
	return top, sync.OnceFunc(stop)
}

// TestTopGoesOn: one line at each look, also when the fleet is gone, until Ctrl-C, which
// is no failure.
func TestTopGoesOn(t *testing.T) {
	top, stop := topOf(t, "-o", "json")
	defer stop()
	out, err := top.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := top.Start(); err != nil {
		t.Fatal(err)
	}
	type line struct {
		At    time.Time
		Error string
		Items []explain.Row
	}
	lines := bufio.NewScanner(out)
	next := func() (l line) {
		if !lines.Scan() {
			t.Fatalf("it ended: %v", lines.Err())
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		return l
	}
	first, second := next(), next()
	if len(first.Items) != 3 || len(second.Items) != 3 || !second.At.After(first.At) || first.Items[0].Name != "fra-1" {
		t.Errorf("%+v, then %+v", first, second)
	}
	stop()
	for l := next(); l.Error == ""; l = next() {
		if len(l.Items) != 3 {
			t.Errorf("a line has neither a fleet nor an error: %+v", l)
		}
	}
	if err := top.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // the last looks
	}
	if err := top.Wait(); err != nil {
		t.Errorf("Ctrl-C is a failure: %v", err)
	}
}

// screen is a terminal, and all that was written to it.
type screen struct {
	keys  *os.File // of who sits before it
	mu    sync.Mutex
	text  strings.Builder
	ended chan struct{}
}

// newScreen starts a program at a terminal of its own.
func newScreen(t *testing.T, program *exec.Cmd, columns, lines uint16) *screen {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{keys: master, ended: make(chan struct{})}
	s.resize(t, columns, lines)
	slave, err := os.OpenFile(filepath.Join("/dev/pts", strconv.Itoa(n)), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = slave.Close() }()
	program.Stdin, program.Stdout, program.Stderr = slave, slave, slave
	program.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { // ends with the terminal
		defer close(s.ended)
		_, _ = io.Copy(s, master)
	}()
	return s
}

func (s *screen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(text)
}

func (s *screen) resize(t *testing.T, columns, lines uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(s.keys.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: lines}); err != nil {
		t.Fatal(err)
	}
}

// frames are what it has shown, one after the other.
func (s *screen) frames() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Split(s.text.String(), "\x1b[H")[1:]
}

// shows waits until some frame since the nth has a text, or has not.
func (s *screen) shows(t *testing.T, since int, holds func(frame string) bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		frames := s.frames()
		if slices.ContainsFunc(frames[min(since, len(frames)):max(since, len(frames)-1)], holds) { // the last may not be whole
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.Fatalf("no such frame:\n%q", s.text.String()[max(0, s.text.Len()-4000):])
}

func contains(text string) func(string) bool {
	return func(frame string) bool { return strings.Contains(frame, text) }
}

// TestTopOnATerminal: a screen of its own, which follows the size of the terminal, says
// when the fleet is gone, and is given back.
func TestTopOnATerminal(t *testing.T) {
	top, stop := topOf(t)
	defer stop()
	s := newScreen(t, top, 100, 24)
	s.shows(t, 0, contains("crawl/fra-1  Ready"))
	s.shows(t, 0, contains(" granted/s · "))
	s.shows(t, 0, contains("crawl/fra-2  Unhealthy"))

	seen := len(s.frames())
	s.resize(t, 60, 5)
	s.shows(t, seen, func(f string) bool {
		return strings.Contains(f, "… and 2 more") && !strings.Contains(f, "fra-2") && strings.Count(f, "\n") < 5
	})

	seen = len(s.frames())
	stop()
	s.resize(t, 100, 24)
	s.shows(t, seen, func(f string) bool {
		return strings.Contains(f, "what follows is ") && strings.Contains(f, "crawl/fra-1")
	})

	if _, err := s.keys.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	if err := top.Wait(); err != nil {
		t.Errorf("Ctrl-C is a failure: %v", err)
	}
	<-s.ended
	if all := s.text.String(); !strings.HasPrefix(all, "\x1b[?1049h\x1b[?25l") || !strings.Contains(all[len(all)-40:], "\x1b[?25h\x1b[?1049l") {
		t.Errorf("the screen is not given back: %q … %q", all[:20], all[len(all)-40:])
	}
}
