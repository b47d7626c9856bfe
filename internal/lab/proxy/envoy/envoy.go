package envoy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/envoyfacts"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

const (
	// workers is how many threads serve requests; Envoy's default is one a CPU.
	workers = 2
	// logFlush is how long a line may wait to be written to the access log.
	logFlush = 100 * time.Millisecond
)

// envoy is an Envoy and its feed.
type envoy struct {
	options proxy.Options
	feed    feed
	admin   *envoyfacts.Admin
	log     *envoyfacts.AccessLog
	process *proxy.Process
	exited  chan struct{}
}

func newEnvoy(o proxy.Options, f feed) *envoy {
	return &envoy{
		options: o, feed: f, admin: envoyfacts.NewAdmin(adminSocket), exited: make(chan struct{}),
		log: &envoyfacts.AccessLog{Path: filepath.Join(o.Dir, "access.log"), Read: readLine, Mark: mark},
	}
}

// Start starts the feed before Envoy, which asks for endpoints when it starts.
func (e *envoy) Start(ctx context.Context) error {
	err := e.feed.start(ctx)
	if err == nil {
		err = e.launch()
	}
	if err == nil {
		go e.watch()
		err = e.await(ctx)
	}
	if err != nil {
		proxy.Abandon(ctx, e.Stop)
	}
	return err
}

func (e *envoy) launch() error {
	config := filepath.Join(e.options.Dir, "bootstrap.yaml")
	text, err := bootstrap(e.log.Path, e.feed)
	if err != nil {
		return fmt.Errorf("make envoy's bootstrap: %w", err)
	}
	if err := os.WriteFile(config, text, 0o600); err != nil {
		return fmt.Errorf("write envoy's bootstrap: %w", err)
	}
	e.process, err = proxy.Command{
		Name: "envoy", Path: e.options.Program, Log: e.options.Log, Noise: noise,
		Args: []string{
			"--config-path", config, "--log-level", "warning", "--concurrency", strconv.Itoa(workers),
			// Several Envoys of one machine would meet in shared memory.
			"--disable-hot-restart",
			"--file-flush-interval-msec", strconv.FormatInt(logFlush.Milliseconds(), 10),
		},
	}.Start()
	return err
}

// await waits until Envoy answers requests, as long as its feed lives.
func (e *envoy) await(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, p := range e.feed.processes() {
		go func() {
			select {
			case <-p.Exited():
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	return e.process.Await(ctx, e.ready)
}

// ready asks Envoy itself first: at a busy port somebody else would answer.
func (e *envoy) ready(ctx context.Context) error {
	for _, p := range e.feed.processes() {
		if err := p.Ended(); err != nil {
			return err
		}
	}
	if err := e.admin.Live(ctx); err != nil {
		return err
	}
	return proxy.Answers(ctx)
}

// watch ends with the first process that ends, or with Stop.
func (e *envoy) watch() {
	defer close(e.exited)
	feed := e.feed.processes()
	if len(feed) == 0 {
		<-e.process.Exited()
		return
	}
	select {
	case <-e.process.Exited():
	case <-feed[0].Exited():
	}
}

// Update implements [proxy.Proxy].
func (e *envoy) Update(ctx context.Context, backends []proxy.Backend) error {
	addresses := make([]string, 0, len(backends))
	for _, b := range backends {
		addresses = append(addresses, b.Address.String())
	}
	return e.feed.update(ctx, addresses)
}

// Belief is one belief: Envoy's workers follow its main thread.
func (e *envoy) Belief(ctx context.Context) (proxy.Belief, error) {
	hosts, err := e.admin.Hosts(ctx, cluster)
	return proxy.Belief{All: hosts, Some: hosts}, err
}

// Processes implements [proxy.Proxy].
func (e *envoy) Processes() []int {
	pids := []int{e.process.PID()}
	for _, p := range e.feed.processes() {
		pids = append(pids, p.PID())
	}
	return pids
}

// Attempts implements [proxy.Proxy].
func (e *envoy) Attempts(ctx context.Context) (map[uint64]int, error) { return e.log.Attempts(ctx) }

// Exited implements [proxy.Proxy].
func (e *envoy) Exited() <-chan struct{} { return e.exited }

// Ended implements [proxy.Proxy]. Without its feed Envoy is told of no change.
func (e *envoy) Ended() error {
	for _, p := range append(e.feed.processes(), e.process) {
		if err := p.Ended(); err != nil {
			return err
		}
	}
	return nil
}

// Stop implements [proxy.Proxy].
func (e *envoy) Stop(ctx context.Context) error {
	e.admin.Close()
	var err error
	if e.process != nil {
		err = e.process.Stop(ctx, unix.SIGTERM)
	}
	return errors.Join(err, e.feed.stop(ctx))
}

// noise are lines that never say why Envoy ended.
func noise(line string) bool { return strings.Contains(line, "][warning][") }

// readLine reads "17 2".
func readLine(line []byte) (envoyfacts.Tried, bool) {
	request, count, ok := strings.Cut(string(line), " ")
	attempts, err := strconv.Atoi(count)
	return envoyfacts.Tried{Request: request, Attempts: attempts}, ok && err == nil
}

// mark sends a request that reaches no backend.
func mark(ctx context.Context, name string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+proxy.ListenAddress+"/", nil)
	if err != nil {
		return err
	}
	request.Host = markHost
	request.Header.Set(proxy.HeaderRequest, name)
	response, err := proxy.Fresh("").Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}
