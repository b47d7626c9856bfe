package haproxy

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// instance is a running HAProxy: a master and its workers.
type instance struct {
	options proxy.Options
	process *proxy.Process
	log     *requestLog
	// Sockets of the master, and of the worker that started last.
	master, runtime socket
}

func newInstance(o proxy.Options) *instance {
	return &instance{
		options: o, log: newRequestLog(),
		master: socket(filepath.Join(o.Dir, "master")), runtime: socket(filepath.Join(o.Dir, "runtime")),
	}
}

// Start implements [proxy.Proxy].
func (i *instance) Start(ctx context.Context) error {
	err := i.log.listen(ctx)
	if err == nil {
		err = i.launch()
	}
	if err == nil {
		err = i.process.Await(ctx, i.ready)
	}
	if err != nil {
		proxy.Abandon(ctx, i.Stop)
	}
	return err
}

func (i *instance) launch() error {
	if err := i.write(nil); err != nil {
		return err
	}
	var err error
	i.process, err = proxy.Command{
		Name: "haproxy", Path: i.options.Program, Log: i.options.Log, Noise: noise,
		Args: []string{"-W", "-db", "-S", string(i.master), "-f", i.file()},
	}.Start()
	return err
}

// ready asks the worker first: at a busy port somebody else would answer.
func (i *instance) ready(ctx context.Context) error {
	if _, err := i.runtime.servers(ctx, ""); err != nil {
		return err
	}
	return proxy.Answers(ctx)
}

func (i *instance) file() string { return filepath.Join(i.options.Dir, "haproxy.cfg") }

// configuration serves a list of backends. A section without servers answers 503.
var configuration = template.Must(template.New("haproxy.cfg").Parse(`global
    nbthread 2
    stats socket {{.Runtime}} mode 600 level admin
    log {{.Log}} format raw local0

defaults
    mode http
    log global
    log-format "` + logForm + `"
    timeout connect 5s
    timeout client 50s
    timeout server 50s
{{- if .RetriesOff}}
    retries 0
{{- end}}

frontend clients
    bind {{.Listen}}
    http-request capture req.hdr({{.Header}}) len 20
    default_backend ` + section + `

backend ` + section + `
    balance roundrobin
{{- range .Backends}}
    server {{.Address}} {{.Address}}:{{$.Port}}
{{- end}}
`))

// section is the name of the backend section in HAProxy's configuration.
const section = "backends"

// write replaces the configuration file as a whole.
func (i *instance) write(backends []proxy.Backend) error {
	var text bytes.Buffer
	err := configuration.Execute(&text, struct {
		Runtime    socket
		Log        string
		RetriesOff bool
		Listen     string
		Header     string
		Port       int
		Backends   []proxy.Backend
	}{i.runtime, i.log.address(), i.options.RetriesOff, proxy.ListenAddress, proxy.HeaderRequest, proxy.BackendPort, backends})
	if err != nil {
		return fmt.Errorf("make haproxy's configuration: %w", err)
	}
	next := i.file() + ".new"
	if err := os.WriteFile(next, text.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write haproxy's configuration: %w", err)
	}
	return os.Rename(next, i.file())
}

// Processes implements [proxy.Proxy]: the master, whose children the workers are.
func (i *instance) Processes() []int { return []int{i.process.PID()} }

// Attempts implements [proxy.Proxy].
func (i *instance) Attempts(ctx context.Context) (map[uint64]int, error) {
	if err := proxy.Rest(ctx, i.process.PID()); err != nil {
		return nil, fmt.Errorf("wait for haproxy's log: %w", err)
	}
	if err := i.wholeLog(ctx); err != nil {
		return nil, err
	}
	return i.log.attempts(ctx)
}

// Exited implements [proxy.Proxy]. The master ends when a worker dies.
func (i *instance) Exited() <-chan struct{} { return i.process.Exited() }

// Ended implements [proxy.Proxy].
func (i *instance) Ended() error { return i.process.Ended() }

// Stop implements [proxy.Proxy]. SIGTERM ends workers at once, with their connections.
func (i *instance) Stop(ctx context.Context) error {
	defer i.log.close()
	if i.process == nil {
		return nil
	}
	return i.process.Stop(ctx, unix.SIGTERM)
}

// noise are lines that never say why HAProxy ended.
func noise(line string) bool {
	return strings.HasPrefix(line, "[NOTICE]") || slices.ContainsFunc(summaries, func(part string) bool { return strings.Contains(line, part) })
}

// summaries come after the line that says why.
var summaries = []string{
	"Exiting Master process", "All workers exited", "exit-on-failure", "Fatal errors found in configuration", "Some protocols failed to start",
}
