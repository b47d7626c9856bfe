package standalone

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/standalone/state"
)

// core is the least that brings a Proxy to what it wants: it finalizes, and lets go of
// what is deleted. It counts the steps of each Proxy.
type core struct {
	objects *Objects
	mu      sync.Mutex
	steps   map[types.NamespacedName]int
	fail    func(types.NamespacedName) error
}

func (c *core) reconcile(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
	c.mu.Lock()
	c.steps[key]++
	fail := c.fail
	c.mu.Unlock()
	if fail != nil {
		if err := fail(key); err != nil {
			return reconcile.Result{}, err
		}
	}
	p, err := c.objects.Proxy(ctx, key)
	if err != nil {
		return reconcile.Result{}, err
	}
	base := p.DeepCopy()
	p.Finalizers = []string{egress_v1alpha1.InstanceFinalizer}
	if p.DeletionTimestamp != nil {
		p.Finalizers = nil
	}
	return reconcile.Result{After: time.Hour}, c.objects.PatchMetadata(ctx, base, p)
}

// machine is a directory of documents and a state directory, with a fleet or without.
type machine struct {
	t          *testing.T
	dir, state string
	log        *buffer

	allow   bool
	fleet   *Fleet
	core    *core
	objects *Objects
	end     func()
}

// buffer can be written to and read at once.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func newMachine(t *testing.T) *machine {
	m := &machine{t: t, dir: filepath.Join(t.TempDir(), "config"), state: t.TempDir(), log: new(buffer)}
	if err := os.Mkdir(m.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return m
}

// start runs a fleet until stop or the end of the test, and waits until it is ready.
func (m *machine) start() {
	m.t.Helper()
	store, err := state.Open(m.t.Context(), m.state, time.Now)
	if err != nil {
		m.t.Fatal(err)
	}
	m.objects = NewObjects(store)
	m.core = &core{objects: m.objects, steps: map[types.NamespacedName]int{}}
	m.fleet = New(Options{
		Dir: m.dir, Objects: m.objects, Reconcile: m.core.reconcile, Providers: []string{"process"}, AllowMassDelete: m.allow,
		Log: slog.New(slog.NewTextHandler(m.log, nil)), Now: time.Now,
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.fleet.Run(ctx) }()
	m.end = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			m.t.Error(err)
		}
		if err := store.Close(); err != nil {
			m.t.Error(err)
		}
	})
	m.t.Cleanup(m.end)
	m.eventually("ready", func() bool { return m.fleet.Ready() == nil })
}

func (m *machine) eventually(what string, holds func() bool) {
	m.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !holds() {
		if time.Now().After(deadline) {
			m.t.Fatalf("not %s; the log:\n%s", what, m.log)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// write puts a file into place as an editor does.
func (m *machine) write(name, text string) {
	m.t.Helper()
	temp := filepath.Join(m.t.TempDir(), "file")
	if err := os.WriteFile(temp, []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
	if err := os.Rename(temp, filepath.Join(m.dir, name)); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) remove(names ...string) {
	m.t.Helper()
	for _, name := range names {
		if err := os.Remove(filepath.Join(m.dir, name)); err != nil {
			m.t.Fatal(err)
		}
	}
}

// proxy returns what is kept of the Proxy default/name, or nil.
func (m *machine) proxy(name string) *egress_v1alpha1.Proxy {
	if r := m.objects.Record(types.NamespacedName{Namespace: "default", Name: name}); r != nil {
		return r.Proxy
	}
	return nil
}

// finalized reports whether these Proxies exist, have taken a step, and stay.
func (m *machine) finalized(names ...string) func() bool {
	return func() bool {
		for _, name := range names {
			if p := m.proxy(name); p == nil || p.DeletionTimestamp != nil || len(p.Finalizers) == 0 {
				return false
			}
		}
		return true
	}
}

func (m *machine) gone(name string) func() bool {
	return func() bool { return m.proxy(name) == nil }
}

func (m *machine) logged(text string) func() bool {
	return func() bool { return strings.Contains(m.log.String(), text) }
}

// managed is a document of a Proxy.
func managed(name string) string {
	return "---\napiVersion: egress.gatehouse.dev/v1alpha1\nkind: Proxy\nmetadata: {name: " + name + "}\nspec: {mode: Managed, provider: process}\n"
}

func TestProxyComesAndGoesWithItsDocument(t *testing.T) {
	m := newMachine(t)
	for _, name := range []string{"a", "b", "c"} {
		m.write(name+".yaml", managed(name))
	}
	m.start()
	m.eventually("created", m.finalized("a", "b", "c"))
	uid := m.proxy("a").UID
	m.remove("b.yaml")
	m.eventually("deleted", m.gone("b"))
	m.write("b.yaml", managed("b"))
	m.eventually("created anew", m.finalized("b"))
	if p := m.proxy("a"); p.UID != uid || p.Generation != 1 {
		t.Errorf("UID %s, was %s; generation %d", p.UID, uid, p.Generation)
	}
}

func TestRestartKeepsWhatIsKnown(t *testing.T) {
	m := newMachine(t)
	m.write("a.yaml", managed("a"))
	m.start()
	m.eventually("created", m.finalized("a"))
	uid, cluster := m.proxy("a").UID, m.objects.Cluster()
	m.end()
	m.write("a.yaml", strings.Replace(managed("a"), "process}", "process, endpoint: {port: 4000}}", 1))
	m.start()
	m.eventually("changed", func() bool { return m.proxy("a").Generation == 2 })
	if m.proxy("a").UID != uid || m.objects.Cluster() != cluster || !m.finalized("a")() {
		t.Errorf("after the restart: %+v of cluster %s", m.proxy("a").ObjectMeta, m.objects.Cluster())
	}
}

// TestALossIsNoWish: whatever may be a fault deletes nothing, and is told.
func TestALossIsNoWish(t *testing.T) {
	everything := []string{"a.yaml", "b.yaml", "c.yaml"}
	for name, c := range map[string]struct {
		lose func(*machine)
		told string
	}{
		"the directory is emptied":     {func(m *machine) { m.remove(everything...) }, "holds no document at all"},
		"more than half of it is gone": {func(m *machine) { m.remove("a.yaml", "b.yaml") }, "the documents of 2 of 3 Proxies are gone"},
		"the directory is gone": {func(m *machine) {
			if err := os.Rename(m.dir, m.dir+".away"); err != nil {
				m.t.Fatal(err)
			}
		}, "its 3 objects stay in force until it is back"},
		"another directory is mounted over it": {func(m *machine) {
			if err := os.Rename(m.dir, m.dir+".away"); err != nil {
				m.t.Fatal(err)
			}
			if err := os.Mkdir(m.dir, 0o755); err != nil {
				m.t.Fatal(err)
			}
		}, "perhaps a file system is not mounted"},
		"a file is spoilt": {func(m *machine) { m.write("b.yaml", "spec: [") }, "b.yaml:1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			for _, file := range everything {
				m.write(file, managed(strings.TrimSuffix(file, ".yaml")))
			}
			m.start()
			m.eventually("created", m.finalized("a", "b", "c"))
			uid := m.proxy("b").UID
			c.lose(m)
			m.eventually("told", m.logged(c.told))
			m.end()
			m.start() // what a restart finds is no wish either
			m.eventually("kept", m.finalized("a", "b", "c"))
			if m.proxy("b").UID != uid {
				t.Error("b was made anew")
			}
		})
	}
}

func TestMassDeletionIsAllowedByAFlag(t *testing.T) {
	m := newMachine(t)
	m.write("all.yaml", managed("a")+managed("b")+managed("c"))
	m.start()
	m.eventually("created", m.finalized("a", "b", "c"))
	m.write("all.yaml", "")
	m.eventually("held", m.logged("more than half"))
	m.end()
	m.allow = true
	m.start()
	for _, name := range []string{"a", "b", "c"} {
		m.eventually("deleted", m.gone(name))
	}
}
