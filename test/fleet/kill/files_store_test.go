package kill_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	core_v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/standalone/state"
)

// TestKillOverAStateDirectory has the store of one machine, on a real disk, and a cloud
// in another process. What documents say is stored by the operator too.
func TestKillOverAStateDirectory(t *testing.T) {
	url := startCloud(t)
	exhaust(t, everyPlace, func(t *testing.T) *stage {
		c := newClock()
		return &stage{store: newFilesStore(t, c), world: newGCEWorld(t, url, c), clock: c}
	})
}

// filesStore is a state directory, and the documents that users have written.
type filesStore struct {
	dir       string
	clock     *clock
	open      *state.Store // by the process that began last
	documents map[types.NamespacedName]*egress_v1alpha1.Proxy
	secrets   map[types.NamespacedName]map[string][]byte
}

func newFilesStore(t *testing.T, c *clock) *filesStore {
	t.Helper()
	f := &filesStore{
		dir: t.TempDir(), clock: c,
		documents: map[types.NamespacedName]*egress_v1alpha1.Proxy{}, secrets: map[types.NamespacedName]map[string][]byte{},
	}
	f.objects(t)
	t.Cleanup(func() { _ = f.open.Close() })
	return f
}

// objects opens the directory as the kernel gives it up when a process has ended.
func (f *filesStore) objects(t *testing.T) objects {
	t.Helper()
	if f.open != nil {
		_ = f.open.Close()
	}
	s, err := state.Open(t.Context(), f.dir, f.clock.now)
	if err != nil {
		t.Fatal(err)
	}
	f.open = s
	return filesObjects{s, f}
}

func (f *filesStore) cluster() string { return f.open.Cluster() }

func (f *filesStore) create(_ *testing.T, p *egress_v1alpha1.Proxy) { f.documents[keyOf(p)] = p }

func (f *filesStore) edit(_ *testing.T, key types.NamespacedName, change func(*egress_v1alpha1.Proxy)) {
	p := f.documents[key].DeepCopy()
	change(p)
	f.documents[key] = p
}

func (f *filesStore) remove(_ *testing.T, key types.NamespacedName) { delete(f.documents, key) }

func (f *filesStore) secret(_ *testing.T, key types.NamespacedName, data map[string][]byte) {
	f.secrets[key] = data
}

func (f *filesStore) proxies(t *testing.T) []*egress_v1alpha1.Proxy {
	t.Helper()
	all, err := f.open.Proxies(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// filesObjects are those of one process.
type filesObjects struct {
	*state.Store
	files *filesStore
}

func (o filesObjects) Secret(_ context.Context, key types.NamespacedName) (*core_v1.Secret, error) {
	if data, ok := o.files.secrets[key]; ok {
		return &core_v1.Secret{Namespace: key.Namespace, Name: key.Name, Data: data}, nil
	}
	return nil, fmt.Errorf("%s: %w", key, reconcile.ErrNoObject)
}

// follow stores what documents say and is not stored.
func (o filesObjects) follow(t *testing.T, b *blade) {
	t.Helper()
	for key, p := range o.files.documents {
		if r := o.Record(key); r != nil && r.Proxy.DeletionTimestamp == nil && sameSpec(r.Proxy, p) {
			continue
		}
		var err error
		if b.pass("apply", func() { _, err = o.Apply(p, "a.yaml", 1) }); err != nil && !errors.Is(err, state.ErrLeaving) {
			t.Error(err)
		}
	}
	for _, r := range o.Records() {
		if key := keyOf(r.Proxy); o.files.documents[key] == nil && r.Proxy.DeletionTimestamp == nil {
			var err error
			if b.pass("forget", func() { err = o.Store.Delete(key) }); err != nil {
				t.Error(err)
			}
		}
	}
}
