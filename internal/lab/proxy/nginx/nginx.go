package nginx

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// nginx is a master with its workers.
type nginx struct {
	options proxy.Options
	client  *http.Client
	process *proxy.Process
	family  family
	log     accessLog
	checked time.Duration

	mu         sync.Mutex
	generation int
	backends   map[int][]netip.Addr // by generation, sorted
}

func newNginx(o proxy.Options) *nginx {
	return &nginx{
		options: o, client: proxy.Fresh(""), backends: map[int][]netip.Addr{},
		log: accessLog{path: filepath.Join(o.Dir, "access.log")},
	}
}

// Checked implements [proxy.Checks].
func (n *nginx) Checked() time.Duration { return n.checked }

// Start implements [proxy.Proxy].
func (n *nginx) Start(ctx context.Context) error {
	next, err := n.write(nil)
	if err == nil {
		err = os.Rename(next, n.file())
	}
	if err == nil {
		err = n.launch()
	}
	if err == nil {
		err = n.process.Await(ctx, n.ready)
	}
	if err != nil {
		proxy.Abandon(ctx, n.Stop)
	}
	return err
}

func (n *nginx) launch() error {
	var err error
	n.process, err = proxy.Command{
		Name: "nginx", Path: n.options.Program, Args: n.args(n.file()), Log: n.options.Log, Noise: noise,
	}.Start()
	if err == nil {
		n.family = family{master: n.process.PID(), log: generationLog(n.options.Dir)}
	}
	return err
}

func (n *nginx) file() string { return filepath.Join(n.options.Dir, "nginx.conf") }

func (n *nginx) args(file string) []string { return []string{"-p", n.options.Dir, "-c", file} }

// ready waits for an answer of a worker of ours: at a busy port somebody else answers.
func (n *nginx) ready(ctx context.Context) error {
	answer, err := n.ask(ctx)
	if err != nil {
		return err
	}
	family, err := n.family.look()
	if err == nil && !slices.ContainsFunc(family, answer.is) {
		err = fmt.Errorf("process %d answers at %s, which is no worker of this nginx", answer.pid, proxy.ListenAddress)
	}
	return err
}

// write writes the file of the next generation beside the one in use.
func (n *nginx) write(backends []proxy.Backend) (path string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.generation++
	addresses := make([]netip.Addr, 0, len(backends))
	for _, b := range backends {
		addresses = append(addresses, b.Address)
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	n.backends[n.generation] = addresses
	text, err := configuration(n.options, n.generation, backends)
	if err != nil {
		return "", err
	}
	path = n.file() + ".new"
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return "", fmt.Errorf("write nginx's configuration: %w", err)
	}
	return path, nil
}

// Update checks the new file before nginx gets it, as controllers do.
func (n *nginx) Update(ctx context.Context, backends []proxy.Backend) error {
	next, err := n.write(backends)
	if err != nil {
		return err
	}
	check := proxy.Command{Name: "nginx -t", Path: n.options.Program, Args: append(n.args(next), "-t", "-q"), Noise: noise}
	spent, err := check.Run(ctx)
	n.checked += spent
	if err != nil {
		return err
	}
	if err := os.Rename(next, n.file()); err != nil {
		return fmt.Errorf("replace nginx's configuration: %w", err)
	}
	return n.process.Signal(unix.SIGHUP)
}

// Processes implements [proxy.Proxy]: the master, whose children the workers are.
func (n *nginx) Processes() []int { return []int{n.process.PID()} }

// Attempts implements [proxy.Proxy].
func (n *nginx) Attempts(ctx context.Context) (map[uint64]int, error) {
	if err := proxy.Rest(ctx, n.process.PID()); err != nil {
		return nil, err
	}
	return n.log.attempts()
}

// Exited implements [proxy.Proxy].
func (n *nginx) Exited() <-chan struct{} { return n.process.Exited() }

// Ended implements [proxy.Proxy].
func (n *nginx) Ended() error { return n.process.Ended() }

// Stop implements [proxy.Proxy]. SIGTERM ends workers at once, with their connections.
func (n *nginx) Stop(ctx context.Context) error {
	if n.process == nil {
		return nil
	}
	return n.process.Stop(ctx, unix.SIGTERM)
}

// noise are lines that never say why nginx ended.
func noise(line string) bool {
	return slices.ContainsFunc(sidelines, func(part string) bool { return strings.Contains(line, part) })
}

var sidelines = []string{
	"[error]", "[warn]", "[notice]",
	// The lines before it name the address.
	"still could not bind()",
	// "nginx -t" ends with this one.
	"configuration file",
	// A user namespace refuses it, which does no harm.
	"initgroups(",
}
