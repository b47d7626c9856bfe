package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestLocaleDecidesOnSymbols(t *testing.T) {
	for _, test := range []struct {
		environ []string
		want    bool
	}{
		{nil, false},
		{[]string{"LANG=C"}, false},
		{[]string{"LANG=de_DE.UTF-8"}, true},
		{[]string{"LANG=C.utf8"}, true},
		{[]string{"LANG=de_DE.ISO-8859-1"}, false},
		{[]string{"LANG=C.UTF-8", "LC_ALL=C"}, false},
		{[]string{"LANG=C", "LC_CTYPE=C.UTF-8"}, true},
		{[]string{"LANG=C.UTF-8", "LC_ALL="}, true},
	} {
		s := &session{env: environment(test.environ)}
		if got := s.unicode(); got != test.want {
			t.Errorf("%q: %v, want %v", test.environ, got, test.want)
		}
	}
}

// openTerminal returns both ends of a new pseudo-terminal of 60 columns.
func openTerminal(t *testing.T) (keyboard, screen *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(keyboard.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: 60, Row: 24}); err != nil {
		t.Fatal(err)
	}
	screen, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = screen.Close(), keyboard.Close() })
	return keyboard, screen
}

func TestColourOnlyOnATerminalThatWantsIt(t *testing.T) {
	_, screen := openTerminal(t)
	for _, test := range []struct {
		environ []string
		want    bool
	}{
		{[]string{"TERM=xterm"}, true},
		{[]string{"TERM=dumb"}, false},
		{[]string{"TERM=xterm", "NO_COLOR=1"}, false},
		{[]string{"TERM=xterm", "NO_COLOR="}, true},
	} {
		s := &session{env: environment(test.environ)}
		if got := s.styleOf(screen); got.Color != test.want || got.Width != 60 {
			t.Errorf("%q: colour %v at %d columns, want %v at 60", test.environ, got.Color, got.Width, test.want)
		}
		if got := s.styleOf(new(bytes.Buffer)); got.Color || got.Width != 0 {
			t.Errorf("%q: a buffer has colour %v and %d columns", test.environ, got.Color, got.Width)
		}
	}
}

func TestErrorsOnATerminalAreColoured(t *testing.T) {
	keyboard, screen := openTerminal(t)
	code := Main(t.Context(), Process{Args: []string{"frobnicate"}, Out: screen, Err: screen, Environ: []string{"TERM=xterm"}})
	line, err := bufio.NewReader(keyboard).ReadString('\n')
	if err != nil || code != 2 || !strings.HasPrefix(line, "\x1b[31merror:\x1b[0m no command \"frobnicate\"") {
		t.Errorf("exit %d, %q, %v", code, line, err)
	}
}
