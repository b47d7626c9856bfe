package state

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
)

// crash is the end of a process at one of its file operations.
type crash struct{ error }

// fragile is a disk whose process ends at operation number at: before it, within it
// (a part of a file is left that is not in place), or after it.
type fragile struct {
	realDisk
	at, n int
	when  int // 0 before, 1 within, 2 after
}

func (d *fragile) guard(path string, do func() error) error {
	d.n++
	if d.n != d.at {
		return do()
	}
	switch d.when {
	case 1:
		part := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"-1")
		if err := os.WriteFile(part, []byte(`{"format":1,"sha`), 0o600); err != nil {
			return err
		}
	case 2:
		if err := do(); err != nil {
			return err
		}
	}
	panic(crash{errors.New("killed")})
}

func (d *fragile) Replace(path string, content []byte) error {
	return d.guard(path, func() error { return d.realDisk.Replace(path, content) })
}

func (d *fragile) Remove(path string) error {
	return d.guard(path, func() error { return d.realDisk.Remove(path) })
}

// TestCrash kills a process at any file operation of any history, and checks what the
// next one finds: each Proxy as it was before the operation or after it, with its UID,
// and none forgotten.
func TestCrash(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "state")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		d := &fragile{at: rapid.IntRange(1, 40).Draw(t, "at"), when: rapid.IntRange(0, 2).Draw(t, "when")}
		m := &model{t: t}
		killed := m.live(dir, d)
		s, err := open(t.Context(), dir, clock, realDisk{}, time.Minute)
		if err != nil {
			t.Fatalf("after a crash (%t) at %d: %v", killed, d.at, err)
		}
		defer s.Close()
		m.check(s, killed)
	})
}

func clock() time.Time { return time.Unix(1_800_000_000, 0) }

// model knows what is stored after each operation.
type model struct {
	t       *rapid.T
	before  map[string]*Record // as the last operation found it
	after   map[string]*Record // as it left it
	cluster string
}

func snapshotOf(s *Store) map[string]*Record {
	out := map[string]*Record{}
	for _, r := range s.Records() {
		out[r.Proxy.Name] = r
	}
	return out
}

// live opens the directory and does things until it is killed or has done enough.
func (m *model) live(dir string, d *fragile) (killed bool) {
	var s *Store
	defer func() {
		if p := recover(); p != nil {
			if _, ours := p.(crash); !ours {
				panic(p)
			}
			killed = true
		}
		if s != nil {
			if err := s.Close(); err != nil {
				m.t.Fatal(err)
			}
		}
	}()
	s, err := open(m.t.Context(), dir, clock, d, time.Minute)
	if err != nil {
		m.t.Fatal(err)
	}
	m.cluster = s.Cluster()
	for range rapid.IntRange(1, 30).Draw(m.t, "operations") {
		m.before = snapshotOf(s)
		m.after = nil
		m.act(s)
		m.after = snapshotOf(s)
	}
	return false
}

func (m *model) act(s *Store) {
	name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(m.t, "name")
	key := types.NamespacedName{Namespace: "default", Name: name}
	var err error
	switch rapid.SampledFrom([]string{"apply", "delete", "finalize", "status", "let go"}).Draw(m.t, "what") {
	case "apply":
		_, err = s.Apply(document(name, rapid.Int32Range(1, 3).Draw(m.t, "port")), "a.yaml", 1)
		if errors.Is(err, ErrLeaving) {
			err = nil
		}
	case "delete":
		err = s.Delete(key)
	case "finalize":
		err = m.patch(s, key, func(p *proxy) error {
			base := p.DeepCopy()
			p.Finalizers = []string{egress_v1alpha1.InstanceFinalizer}
			p.Annotations = map[string]string{egress_v1alpha1.SpecHashAnnotation: "abc"}
			return s.PatchMetadata(m.t.Context(), base, p)
		})
	case "status":
		err = m.patch(s, key, func(p *proxy) error {
			base := p.DeepCopy()
			p.Status.ProviderID = rapid.StringMatching("[a-z]{3}").Draw(m.t, "id")
			return s.PatchStatus(m.t.Context(), base, p)
		})
	case "let go":
		err = m.patch(s, key, func(p *proxy) error {
			base := p.DeepCopy()
			p.Finalizers = nil
			return s.PatchMetadata(m.t.Context(), base, p)
		})
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *model) patch(s *Store, key types.NamespacedName, do func(*proxy) error) error {
	p, err := s.Proxy(m.t.Context(), key)
	if err != nil {
		return nil //nolint:nilerr // there is no such Proxy now
	}
	return do(p)
}

// check compares what the next process finds with what the last one left.
func (m *model) check(s *Store, killed bool) {
	if m.cluster != "" && s.Cluster() != m.cluster {
		m.t.Fatalf("cluster %s, was %s", s.Cluster(), m.cluster)
	}
	found := snapshotOf(s)
	if !killed {
		m.same(found, m.after)
		return
	}
	for _, name := range []string{"a", "b", "c"} {
		was, is := m.before[name], found[name]
		switch {
		case was == nil, is == nil && was.Proxy.DeletionTimestamp != nil, is == nil && len(was.Proxy.Finalizers) == 0:
		case is == nil:
			m.t.Fatalf("Proxy %s with finalizers %v is forgotten", name, was.Proxy.Finalizers)
		case is.Proxy.UID != was.Proxy.UID:
			m.t.Fatalf("Proxy %s has UID %s, had %s", name, is.Proxy.UID, was.Proxy.UID)
		}
	}
}

func (m *model) same(found, want map[string]*Record) {
	if len(found) != len(want) {
		m.t.Fatalf("%d Proxies, want %d", len(found), len(want))
	}
	for name, r := range want {
		is := found[name]
		if is == nil || is.Proxy.UID != r.Proxy.UID || is.Proxy.ResourceVersion != r.Proxy.ResourceVersion || is.Proxy.Generation != r.Proxy.Generation ||
			is.Proxy.Status.ProviderID != r.Proxy.Status.ProviderID || !slices.Equal(is.Proxy.Finalizers, r.Proxy.Finalizers) {
			m.t.Fatalf("Proxy %s: %+v, want %+v", name, is, r)
		}
	}
}

func document(name string, port int32) *proxy {
	p := &proxy{Spec: egress_v1alpha1.ProxySpec{Mode: egress_v1alpha1.Managed, Provider: "process", Endpoint: &egress_v1alpha1.Endpoint{Port: port}}}
	p.Name, p.Namespace = name, "default"
	return p
}
