package process

import (
	"context"
	"errors"
	"iter"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider/providertest"
)

const secret = providertest.Password

// TestContract is with loopback addresses.
func TestContract(t *testing.T) { contract(t, nil) }

// TestContractInNamespaces is with a namespace for each instance.
func TestContractInNamespaces(t *testing.T) {
	if alone(t) {
		contract(t, &Network{})
	}
}

func contract(t *testing.T, n *Network) {
	const once = "a directory is read at once, by its entries"
	providertest.Run(t, providertest.Subject{
		New: func(t *testing.T) providertest.World { return newWorld(t, n) },
		Impossible: map[providertest.Fault]string{
			providertest.QuotaLater:    "a process is started, or not, before the create returns",
			providertest.StockoutNow:   "a machine does not run out of machines",
			providertest.StockoutLater: "a machine does not run out of machines",
			providertest.GetDenies:     "what a directory says is so",
			providertest.Restarts:      "a process that has ended is not started again",
			providertest.ListPages:     once,
			providertest.ListEmptyPage: once,
			providertest.ListRepeats:   once,
			providertest.Duplicate:     "the name of a folder is the instance's, and there is one folder of a name",
			providertest.Throttles:     "nobody counts",
			providertest.Forbids:       "who may use the directory may do everything in it",
		},
	})
}

// world is a directory.
type world struct {
	dir, program string
	network      *Network

	mu      sync.Mutex
	faults  map[providertest.Fault]func() // how to lift them
	cutting map[string]error              // by point
}

func newWorld(t *testing.T, n *Network) *world {
	scratch := t.TempDir()
	for _, folder := range []string{scratch, filepath.Dir(scratch)} { // a user without rights runs the program there
		if err := os.Chmod(folder, 0o755); err != nil { //nolint:gosec // as above
			t.Fatal(err)
		}
	}
	w := &world{
		dir: filepath.Join(scratch, "state"), program: filepath.Join(scratch, "program"), network: n,
		faults: make(map[providertest.Fault]func()), cutting: make(map[string]error),
	}
	if err := script(w.program, w.hold()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		killAll(w.dir)
		if p, err := New(context.Background(), w.options("")); err == nil {
			_ = p.unbridge()
		}
	})
	return w
}

func (w *world) hold() string { return w.program + "-hold" }

func (w *world) options(cluster string) Options {
	return Options{Dir: w.dir, Cluster: cluster, Command: []string{w.program}, Network: w.network, Now: w.now}
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.faults[providertest.ClockSkew] != nil {
		return time.Now().Add(providertest.Skew)
	}
	return time.Now()
}

func (w *world) Open(tb testing.TB, cluster string) provider.Provider {
	p, err := New(tb.Context(), w.options(cluster))
	if err != nil {
		tb.Fatal(err)
	}
	p.grace = time.Hour // whoever is told to end does, or is stopped
	p.hosts = w.hosts
	p.cut = func(point string) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.cutting[point]
	}
	return p
}

func (w *world) hosts(prefix netip.Prefix) iter.Seq[netip.Addr] {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.faults[providertest.QuotaNow] != nil {
		return func(func(netip.Addr) bool) {}
	}
	return candidates(prefix)
}

func (w *world) Request(cluster, uid string) provider.CreateRequest {
	r := request(cluster, uid)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.faults[providertest.CreateInvalid] != nil {
		r.Port = 65536
	}
	return r
}

func (w *world) Step(testing.TB) {}

func (w *world) Count(tb testing.TB, name string) int {
	entries, err := filepath.Glob(filepath.Join(w.dir, "instances", name))
	if err != nil {
		tb.Fatal(err)
	}
	return max(len(entries), len(processesOf(filepath.Join(w.dir, "instances", name))))
}

func (w *world) Inject(tb testing.TB, f providertest.Fault, on string) {
	tb.Helper()
	lift, err := w.begin(tb, f, on)
	if err != nil {
		tb.Fatal(err)
	}
	if lift == nil {
		lift = func() {}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults[f] = lift
}

func (w *world) Lift(_ testing.TB, f providertest.Fault) {
	w.mu.Lock()
	lift := w.faults[f]
	delete(w.faults, f)
	w.mu.Unlock()
	lift()
}

// cutAt ends calls at a point.
func (w *world) cutAt(point string) func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cutting[point] = errors.New("cut short at " + point)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.cutting, point)
	}
}

func (w *world) begin(tb testing.TB, f providertest.Fault, on string) (lift func(), err error) {
	folder := filepath.Join(w.dir, "instances", on)
	away := func(path string) (func(), error) {
		return func() { _ = os.Rename(path+"-away", path) }, os.Rename(path, path+"-away")
	}
	switch f {
	case providertest.CreateLost:
		return w.cutAt("noted"), nil
	case providertest.DeleteUnavailable:
		return w.cutAt("delete"), nil
	case providertest.DeleteLost:
		return w.cutAt("deleted"), nil
	case providertest.CreateUnavailable:
		return away(w.program)
	case providertest.NameTaken:
		return func() {}, os.Mkdir(folder, 0o700)
	case providertest.AddressLate:
		return func() { _ = os.Remove(w.hold()) }, os.WriteFile(w.hold(), nil, 0o600)
	case providertest.GetUnavailable:
		return blocked(filepath.Join(folder, recordFile))
	case providertest.ListPartial:
		return blocked(filepath.Join(w.dir, "instances", "px-other", recordFile))
	case providertest.ListUnavailable:
		return blocked(filepath.Join(w.dir, "instances"))
	case providertest.Stops:
		return nil, w.signal(folder, unix.SIGKILL)
	case providertest.Vanishes:
		return nil, os.RemoveAll(folder)
	case providertest.DeleteStalls:
		return func() { _ = w.signal(folder, unix.SIGCONT) }, w.signal(folder, unix.SIGSTOP)
	case providertest.Hangs:
		return lock(tb.Context(), filepath.Join(w.dir, "lock"))
	default: // whoever has to know looks for it
		return nil, nil //nolint:nilnil // there is nothing to lift
	}
}

func (w *world) signal(folder string, s unix.Signal) error {
	for _, one := range processesOf(folder) {
		if err := one.signal(s); err != nil {
			return err
		}
	}
	return nil
}

// blocked puts something that cannot be read in the place of a file or folder.
func blocked(path string) (func(), error) {
	_ = os.MkdirAll(filepath.Dir(path), 0o700)
	kept := path + "-kept"
	if err := os.Rename(path, kept); errors.Is(err, os.ErrNotExist) {
		return func() { _ = os.RemoveAll(filepath.Dir(path)) }, os.Mkdir(path, 0o700)
	}
	info, err := os.Stat(kept)
	if err == nil && info.IsDir() {
		err = os.WriteFile(path, nil, 0o600)
	} else if err == nil {
		err = os.Mkdir(path, 0o700)
	}
	return func() { _, _ = os.Remove(path), os.Rename(kept, path) }, err
}
