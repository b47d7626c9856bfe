package host

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/wholefile"
)

// DrainTime is Envoy's own, and has to exceed the longest request: what is still open
// on a changed or removed listener is cut after it. Draining connections are
// asked to close after their next response instead of at random over that time.
const DrainTime = 10 * time.Minute

// accessLogFlush is how long a line may wait in Envoy's buffer.
const accessLogFlush = time.Second

const defaultLogLevel = "warning"

// launcher starts Envoys; what it holds is the same for all of them.
type launcher struct {
	envoy       string
	proxies     string // the folder of the Gateways' folders
	sockets     string
	xdsSocket   string
	keep        bool
	isolated    bool
	nice        int
	drain       time.Duration // Envoy's own
	boot        string
	binary      string // tells one build of Envoy in its place from another
	files       uint64 // open files a process may have
	connections int64
	spawner     *spawner
}

func newLauncher(o Options, proxies, sockets string) (launcher, error) {
	info, err := os.Stat(o.Envoy)
	if err != nil {
		return launcher{}, fmt.Errorf("envoy %q: %w; name an Envoy %s binary with --envoy", o.Envoy, cause(err), EnvoyVersion)
	}
	boot, err := bootID()
	if err != nil {
		return launcher{}, fmt.Errorf("read the machine's boot id: %w", err)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return launcher{}, fmt.Errorf("read the limit of open files: %w", err)
	}
	xds, err := filepath.Abs(o.XDSSocket)
	if err == nil {
		err = checkSocket(xds)
	}
	if err != nil {
		return launcher{}, fmt.Errorf("xDS socket: %w", err)
	}
	files := min(limit.Max, 1<<20)
	return launcher{
		envoy: o.Envoy, proxies: proxies, sockets: sockets, xdsSocket: xds, keep: o.KeepProxies, boot: boot,
		isolated: o.Isolated, nice: o.Nice, drain: o.DrainTime,
		binary: fmt.Sprintf("%s %d %d", o.Envoy, info.Size(), info.ModTime().UnixNano()),
		files:  files,
		// Each proxied connection takes two files.
		connections: int64(files / 2),
	}, nil
}

func (l launcher) dir(g model.GatewayID) gatewayDir {
	return gatewayDir(filepath.Join(l.proxies, folderName(g)))
}

// hash covers all that a running process cannot change. Names that differ with
// every start, and the log level, are left out.
func (l launcher) hash(g model.GatewayID, s model.Settings) (string, error) {
	b, err := bootstrap(identity{gateway: g, xdsSocket: l.xdsSocket, connections: l.connections, statistics: s.Statistics})
	if err != nil {
		return "", err
	}
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(b)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%x\n%q\n%s\n", data, l.arguments("", model.Settings{Concurrency: s.Concurrency}), l.binary)
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func (l launcher) arguments(config string, s model.Settings) []string {
	seconds := func(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) }
	arguments := []string{
		l.envoy, "--config-path", config, "--log-level", logLevel(s),
		// Nothing is handed from process to process: listening sockets are exclusive.
		"--disable-hot-restart",
		"--drain-time-s", seconds(l.drain), "--drain-strategy", "immediate",
		"--file-flush-interval-msec", strconv.FormatInt(accessLogFlush.Milliseconds(), 10),
	}
	if s.Concurrency > 0 {
		arguments = append(arguments, "--concurrency", strconv.FormatUint(uint64(s.Concurrency), 10))
	}
	return arguments
}

func logLevel(s model.Settings) string {
	if s.LogLevel == "" {
		return defaultLogLevel
	}
	return s.LogLevel
}

// launch starts an Envoy for a Gateway.
func (l launcher) launch(g model.GatewayID, s model.Settings, now time.Time) (*process, error) {
	p, err := l.prepare(g, s)
	if err == nil {
		if err = l.start(p, s, now); err == nil {
			return p, nil
		}
	}
	if p != nil {
		_ = p.dir.remove(p.AdminSocket) // the first error is the one to tell
	}
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		err = fmt.Errorf("%w; free space there, or name another directory with --state-dir", err)
	}
	return nil, fmt.Errorf("gateway %s: start envoy: %w", g, err)
}

// prepare writes what a process needs before it starts.
func (l launcher) prepare(g model.GatewayID, s model.Settings) (*process, error) {
	id := startID()
	hash, err := l.hash(g, s)
	if err != nil {
		return nil, err
	}
	p := &process{
		Gateway: g, Node: string(g) + "/" + id, Hash: hash,
		AdminSocket: filepath.Join(l.sockets, shortHash(string(g), 4)+"-"+id+".sock"),
		dir:         start(filepath.Join(string(l.dir(g)), id)),
	}
	if err := os.MkdirAll(string(p.dir), 0o700); err != nil {
		return nil, err
	}
	config, err := l.bootstrap(p, s)
	if err != nil {
		return p, err
	}
	if err := wholefile.Replace(p.dir.bootstrap(), config); err != nil {
		return p, err
	}
	return p, p.dir.write(p.record)
}

func (l launcher) bootstrap(p *process, s model.Settings) ([]byte, error) {
	b, err := bootstrap(identity{
		gateway: p.Gateway, node: p.Node, adminSocket: p.AdminSocket, xdsSocket: l.xdsSocket, connections: l.connections, statistics: s.Statistics,
	})
	if err != nil {
		return nil, err
	}
	if err := b.ValidateAll(); err != nil {
		return nil, fmt.Errorf("its bootstrap is not valid: %w", err)
	}
	return protojson.MarshalOptions{Multiline: true, UseProtoNames: true}.Marshal(b)
}

func (l launcher) start(p *process, s model.Settings, now time.Time) error {
	dir := p.dir.gatewayDir()
	log, err := openLog(dir.log(), maxLog)
	if err != nil {
		return err
	}
	defer log.Close()
	access, err := openLog(dir.accessLog(), maxLog)
	if err != nil {
		return err
	}
	defer access.Close()
	if info, err := log.Stat(); err == nil {
		p.logFrom = info.Size()
	}
	p.PID, p.pidfd, err = l.spawner.start(l.arguments(p.dir.bootstrap(), s), environment(os.Environ()), access, log, way{keep: l.keep, isolated: l.isolated})
	if err != nil {
		return err
	}
	p.began, p.level, p.admin = now, logLevel(s), newAdmin(p.AdminSocket)
	p.watch()
	return l.register(p)
}

// register completes the record of a process that has started. One that cannot
// be recorded could not be found again, so it does not stay.
func (l launcher) register(p *process) error {
	ticks, err := startTicks(p.PID)
	if err != nil {
		return nil // it has ended already: its keeper will see that and say why
	}
	p.BootID, p.StartTicks = l.boot, ticks
	limit := unix.Rlimit{Cur: l.files, Max: l.files}
	_ = unix.Prlimit(p.PID, unix.RLIMIT_NOFILE, &limit, nil) // it serves with fewer files too
	if l.nice != 0 {
		_ = unix.Setpriority(unix.PRIO_PROCESS, p.PID, l.nice) // it works at any priority
	}
	if err := p.dir.write(p.record); err != nil && l.keep {
		return fmt.Errorf("record process %d: %w", p.PID, joinKill(err, p))
	}
	return nil
}

func joinKill(err error, p *process) error {
	if killed := p.kill(); killed != nil {
		return fmt.Errorf("%w; end it again: %w", err, killed)
	}
	return err
}

// environment passes on what Envoy can make use of, and no secret that was meant for us.
func environment(all []string) []string {
	wanted := []string{"PATH", "HOME", "TMPDIR", "TZ", "LANG", "SSL_CERT_FILE", "SSL_CERT_DIR"}
	var kept []string
	for _, entry := range all {
		if name, _, _ := strings.Cut(entry, "="); slices.Contains(wanted, name) {
			kept = append(kept, entry)
		}
	}
	return kept
}
