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
	in    *os.File // its standard input
	out   *os.File // its standard output
	said  *tail    // what it wrote to standard error
	ended chan struct{}
	err   error // how it ended; set when ended is closed
}

// spawn starts the program. Its owner must wait for ended.
func spawn(argv []string) (*process, error) {
	// No context: who started it ends it.
	p := &process{cmd: exec.CommandContext(context.Background(), argv[0], argv[1:]...), said: new(tail), ended: make(chan struct{})}
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
	p.in, p.out = in, out
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

// begin gives the process its order and returns when it listens.
func (p *process) begin(ctx context.Context, o order) error {
	line, err := json.Marshal(o)
	if err != nil {
		return err
	}
	// Closing the pipes ends what waits for them.
	stop := context.AfterFunc(ctx, func() { _ = p.out.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return p.failed(ctx, o, err)
	}
	answer, err := bufio.NewReader(p.out).ReadString('\n')
	if err != nil {
		return p.failed(ctx, o, err)
	}
	if answer != listening+"\n" {
		return fmt.Errorf("backend %s at %s: it said %q instead of %q", o.Name, o.Address, answer, listening)
	}
	return nil
}

// failed kills the process and says why it did not begin.
func (p *process) failed(ctx context.Context, o order, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	p.kill()
	<-p.ended
	return fmt.Errorf("backend %s does not listen on %s:%d: %w%s", o.Name, o.Address, proxy.BackendPort, err, p.said)
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
