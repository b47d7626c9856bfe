package arena

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// process is one backend process; it waits for its order until begin.
type process struct {
	cmd   *exec.Cmd
	in    *os.File      // its standard input
	out   *os.File      // its standard output
	lines *bufio.Reader // of out
	said  *tail         // what it wrote to standard error
	waits bool          // it has said so
	ended chan struct{}
	err   error // how it ended; set when ended is closed
}

// spawn starts the program. Its owner must wait for ended.
func spawn(ctx context.Context, argv []string) (*process, error) {
	ctx = context.WithoutCancel(ctx) // it outlives its start
	p := &process{cmd: exec.CommandContext(ctx, argv[0], argv[1:]...), said: new(tail), ended: make(chan struct{})}
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start a backend: %w", err)
	}
	defer childIn.Close()
	out, childOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, fmt.Errorf("start a backend: %w", err)
	}
	defer childOut.Close()
	p.in, p.out, p.lines = in, out, bufio.NewReader(out)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = childIn, childOut, p.said
	// There are a hundred of them, and each does little.
	p.cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=50")
	if err := p.cmd.Start(); err != nil {
		in.Close()
		out.Close()
		return nil, fmt.Errorf("start a backend: %w", err)
	}
	go p.wait()
	return p, nil
}

func (p *process) wait() {
	p.err = p.cmd.Wait()
	p.in.Close()
	p.out.Close()
	close(p.ended)
}

// begin gives the process its order and returns when it listens; if it does not, the
// process is killed.
func (p *process) begin(ctx context.Context, o order) error {
	var err error
	if !p.waits {
		err = p.expect(ctx, waiting)
	}
	if err == nil {
		err = json.NewEncoder(p.in).Encode(o)
	}
	if err == nil {
		err = p.expect(ctx, listening)
	}
	if err != nil {
		p.destroy() // what it said is complete then
		return fmt.Errorf("backend %s does not listen on %s:%d: %w%s", o.Name, o.Address, proxy.BackendPort, err, p.said)
	}
	return nil
}

// expect returns once the process has said a word.
func (p *process) expect(ctx context.Context, word string) error {
	stop := context.AfterFunc(ctx, func() { _ = p.out.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	line, err := p.lines.ReadString('\n')
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("wait until it is %s: %w", word, context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("wait until it is %s: %w", word, err)
	case line != word+"\n":
		return fmt.Errorf("it said %q instead of %q", line, word)
	}
	return nil
}

// destroy kills the process and waits for it.
func (p *process) destroy() {
	p.kill()
	<-p.ended
}

func (p *process) stop() { _ = p.cmd.Process.Signal(syscall.SIGTERM) }

func (p *process) kill() { _ = p.cmd.Process.Kill() }

// tail keeps the last bytes that were written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write implements [io.Writer].
func (t *tail) Write(text []byte) (int, error) {
	const most = 512
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, text...)
	t.text = t.text[max(0, len(t.text)-most):]
	return len(text), nil
}

// String returns them as the end of an error, in one line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.Join(strings.Fields(string(t.text)), " ")
	if text == "" {
		return ""
	}
	return ": it said: " + text
}
