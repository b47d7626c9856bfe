// Gotest runs "go test -json" with its arguments and says what a long run needs
// said: each package as it ends, the output of what failed, how many tests
// passed, and every skip by name. It fails on a failed test, on a skipped test,
// and on a process that a test left behind, which it ends.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/gatehouse-proxy/gatehouse/test/orphan"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return test(ctx, args, out)
}

func test(ctx context.Context, args []string, out io.Writer) error {
	if err := orphan.Adopt(); err != nil {
		return err
	}
	start := time.Now()
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	// "go test" passes an interrupt on and reports what was running.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	t := newTally(out)
	t.read(stdout)
	failed := cmd.Wait()
	left := orphan.End(10 * time.Second)
	t.summary(time.Since(start), left)
	return verdict(failed, t, left)
}

// verdict is why the run as a whole failed, or nil.
func verdict(failed error, t *tally, left []string) error {
	switch {
	case failed != nil:
		return fmt.Errorf("tests failed: %w", failed)
	case len(t.skipped) > 0:
		return fmt.Errorf("%d tests were skipped: what cannot run here must fail and say what it needs", len(t.skipped))
	case len(left) > 0:
		return fmt.Errorf("%d processes were left behind", len(left))
	case t.passed == 0:
		return fmt.Errorf("no test ran")
	}
	return nil
}

// event is one line of "go test -json".
type event struct {
	Action     string
	Package    string
	Test       string
	Elapsed    float64
	Output     string
	ImportPath string // of build output
}

// tally counts results and keeps the output of tests that have not passed.
type tally struct {
	out     io.Writer
	passed  int
	failed  []string
	skipped []string
	pending map[string]*strings.Builder // by package and test
}

func newTally(out io.Writer) *tally {
	return &tally{out: out, pending: make(map[string]*strings.Builder)}
}

// read consumes events until the end; lines that are no events are printed as they are.
func (t *tally) read(r io.Reader) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		var e event
		if json.Unmarshal([]byte(line), &e) == nil {
			t.add(e)
		} else if line != "" {
			fmt.Fprint(t.out, line)
		}
		if err != nil {
			return
		}
	}
}

func (t *tally) add(e event) {
	key := e.Package + e.ImportPath + " " + e.Test
	switch e.Action {
	case "output", "build-output":
		t.keep(key, e.Output)
	case "build-fail":
		t.print(key)
	case "pass", "fail", "skip":
		t.end(e, key)
		delete(t.pending, key)
	}
}

func (t *tally) keep(key, output string) {
	b := t.pending[key]
	if b == nil {
		b = new(strings.Builder)
		t.pending[key] = b
	}
	b.WriteString(output)
}

func (t *tally) print(key string) {
	if b := t.pending[key]; b != nil {
		fmt.Fprint(t.out, b.String())
	}
}

// end takes the result of a test or, with an empty Test, of a package.
func (t *tally) end(e event, key string) {
	name := e.Package + " " + e.Test
	switch {
	case e.Test == "" && e.Action == "skip": // no test files
	case e.Test == "":
		if e.Action == "fail" {
			t.print(key)
		}
		fmt.Fprintf(t.out, "%-4s %-60s %6.1fs\n", e.Action, e.Package, e.Elapsed)
	case e.Action == "pass":
		t.passed++
	case e.Action == "skip":
		t.skipped = append(t.skipped, name)
		t.print(key)
	default:
		t.failed = append(t.failed, name)
		t.print(key)
	}
}

func (t *tally) summary(took time.Duration, left []string) {
	fmt.Fprintf(t.out, "\n%d passed, %d failed, %d skipped, %d processes left behind, in %s\n",
		t.passed, len(t.failed), len(t.skipped), len(left), took.Round(time.Second))
	t.list("failed", t.failed)
	t.list("skipped", t.skipped)
	t.list("left behind", left)
}

func (t *tally) list(label string, names []string) {
	for _, name := range names {
		fmt.Fprintf(t.out, "  %s: %s\n", label, name)
	}
}
