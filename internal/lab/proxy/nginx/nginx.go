package nginx

import (
	"context"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// nginx is a running nginx: a master and its workers.
type nginx struct {
	options proxy.Options
	process *proxy.Process

	mu sync.Mutex
	generations
}

func newNginx(o proxy.Options) *nginx {
	return &nginx{options: o, generations: newGenerations()}
}

// Start implements [proxy.Proxy].
func (n *nginx) Start(ctx context.Context) error {
	if err := n.write(n.begin(nil), nil); err != nil {
		return err
	}
	var err error
	n.process, err = n.command("nginx").Start()
	if err != nil {
		return err
	}
	if err := n.process.Await(ctx, n.ready); err != nil {
		now, cancel := context.WithCancel(ctx)
		cancel()
		_ = n.Stop(now) // the first error says more
		return err
	}
	return nil
}

func (n *nginx) command(name string, more ...string) proxy.Command {
	args := []string{"-p", n.options.Dir, "-e", "stderr", "-c", n.file()}
	return proxy.Command{Name: name, Path: n.options.Program, Args: append(args, more...), Log: n.options.Log, Noise: noise}
}

// ready asks for the generation: at a busy port somebody else would answer.
func (n *nginx) ready(ctx context.Context) error {
	_, err := n.ask(ctx)
	return err
}

// Update checks the new file before it reloads, as controllers do.
func (n *nginx) Update(ctx context.Context, backends []proxy.Backend) error {
	n.mu.Lock()
	generation := n.begin(backends)
	n.mu.Unlock()
	if err := n.write(generation, backends); err != nil {
		return err
	}
	if _, err := n.command("nginx -t", "-t", "-q").Run(ctx); err != nil {
		return err
	}
	n.mu.Lock()
	n.hand(generation)
	n.mu.Unlock()
	return n.process.Signal(unix.SIGHUP)
}

// Processes implements [proxy.Proxy]: the master, whose children the workers are.
func (n *nginx) Processes() []int { return []int{n.process.PID()} }

// Exited implements [proxy.Proxy].
func (n *nginx) Exited() <-chan struct{} { return n.process.Exited() }

// Stop implements [proxy.Proxy]. SIGTERM ends workers at once, with their connections.
func (n *nginx) Stop(ctx context.Context) error {
	if n.process == nil {
		return nil
	}
	return n.process.Stop(ctx, unix.SIGTERM)
}

// noise are lines that never say why nginx ended: those below [emerg], and the last,
// which only says that it could not bind.
func noise(line string) bool {
	return strings.Contains(line, "[warn]") || strings.Contains(line, "[notice]") || strings.Contains(line, "still could not bind")
}
