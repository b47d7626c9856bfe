package state

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
)

// filled is a state directory with one Proxy, and the path of its record.
func filled(t *testing.T) (dir, record string) {
	t.Helper()
	dir = t.TempDir()
	s := opened(t, dir)
	if _, err := s.Apply(document("a", 1), "a.yaml", 1); err != nil {
		t.Fatal(err)
	}
	record = s.path(string(s.Records()[0].Proxy.UID))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, record
}

func opened(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(t.Context(), dir, clock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestADirectoryHasOneProcess(t *testing.T) {
	dir := t.TempDir()
	s := opened(t, dir)
	if _, err := open(t.Context(), dir, clock, realDisk{}, time.Millisecond); err == nil || !strings.Contains(err.Error(), "is in use by process ") {
		t.Fatalf("error %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	opened(t, dir)
}

// TestDamageIsNoLoss: what cannot be read is an error that says what to do.
func TestDamageIsNoLoss(t *testing.T) {
	whole := func(t *testing.T, path string) []byte {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	for name, c := range map[string]struct {
		spoil func(t *testing.T, dir, record string) error
		says  string
	}{
		"truncated": {func(t *testing.T, _, record string) error {
			return os.WriteFile(record, whole(t, record)[:100], 0o600)
		}, "restore it from a backup, or remove it"},
		"empty": {func(_ *testing.T, _, record string) error { return os.WriteFile(record, nil, 0o600) }, "it is damaged"},
		"a bit": {func(t *testing.T, _, record string) error {
			content := whole(t, record)
			content[len(content)/2] ^= 1
			return os.WriteFile(record, content, 0o600)
		}, "it is damaged"},
		"a newer format": {func(t *testing.T, _, record string) error {
			return os.WriteFile(record, []byte(strings.Replace(string(whole(t, record)), `"format":1`, `"format":2`, 1)), 0o600)
		}, "written by a newer Gatehouse; start that version"},
		"a copy": {func(t *testing.T, dir, record string) error {
			return os.WriteFile(filepath.Join(dir, "proxies", "copy.json"), whole(t, record), 0o600)
		}, "it is of another Proxy"},
		"no ID": {func(_ *testing.T, dir, _ string) error { return os.Remove(filepath.Join(dir, "cluster.json")) }, "the instances of 1 Proxies are not recognised"},
		"a spoilt ID": {func(_ *testing.T, dir, _ string) error {
			return os.WriteFile(filepath.Join(dir, "cluster.json"), []byte("{}"), 0o600)
		}, "restore it from a backup"},
		"a directory": {func(_ *testing.T, _, record string) error {
			return errors.Join(os.Remove(record), os.Mkdir(record, 0o700))
		}, "want a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, record := filled(t)
			if err := c.spoil(t, dir, record); err != nil {
				t.Fatal(err)
			}
			s, err := Open(t.Context(), dir, clock)
			if err == nil {
				t.Fatalf("opened with %d Proxies", len(s.Records()))
			}
			if !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q, want %q in one line", err, c.says)
			}
		})
	}
}

// TestObjects: what the core relies on.
func TestObjects(t *testing.T) {
	s := opened(t, t.TempDir())
	key := types.NamespacedName{Namespace: "default", Name: "a"}
	if _, err := s.Proxy(t.Context(), key); !errors.Is(err, reconcile.ErrNoObject) {
		t.Fatalf("error %v of a Proxy that is not", err)
	}
	if _, err := s.Apply(document("a", 1), "a.yaml", 1); err != nil {
		t.Fatal(err)
	}
	stale, p := get(t, s, key), get(t, s, key)
	base := p.DeepCopy()
	p.Finalizers = []string{egress_v1alpha1.InstanceFinalizer}
	p.Annotations = map[string]string{egress_v1alpha1.SpecHashAnnotation: "abc"}
	p.Status.ProviderID = "staged"
	if err := s.PatchMetadata(t.Context(), base, p); err != nil {
		t.Fatal(err)
	}
	if now := get(t, s, key); now.Status.ProviderID != "" || p.Status.ProviderID != "staged" || now.ResourceVersion != p.ResourceVersion {
		t.Errorf("PatchMetadata wrote or lost the status: %+v", now)
	}
	if err := s.PatchMetadata(t.Context(), stale, p); !errors.Is(err, reconcile.ErrConflict) {
		t.Errorf("error %v of finalizers that have changed", err)
	}
	if err := s.PatchStatus(t.Context(), base, p); err != nil || get(t, s, key).Status.ProviderID != "staged" {
		t.Errorf("error %v", err)
	}
	changed := document("a", 2)
	changed.Annotations = map[string]string{egress_v1alpha1.SpecHashAnnotation: "copied", "mine": "yes"}
	if changed, err := s.Apply(changed, "a.yaml", 1); err != nil || !changed {
		t.Fatalf("changed %t, error %v", changed, err)
	}
	if now := get(t, s, key); now.Generation != 2 || now.Annotations[egress_v1alpha1.SpecHashAnnotation] != "abc" || now.Annotations["mine"] != "yes" || now.Status.ProviderID != "staged" {
		t.Errorf("after a change %+v", now)
	}
	gone := get(t, s, key)
	gone.UID = "another"
	if err := s.PatchStatus(t.Context(), gone, gone); !errors.Is(err, reconcile.ErrNoObject) {
		t.Errorf("error %v of another object's status", err)
	}
}

// TestDeletion: a Proxy with a finalizer stays, and takes what its document still may
// say of it; without one it is gone.
func TestDeletion(t *testing.T) {
	s := opened(t, t.TempDir())
	key := types.NamespacedName{Namespace: "default", Name: "a"}
	if _, err := s.Apply(document("a", 1), "a.yaml", 1); err != nil {
		t.Fatal(err)
	}
	p := get(t, s, key)
	base := p.DeepCopy()
	p.Finalizers = []string{egress_v1alpha1.InstanceFinalizer}
	if err := errors.Join(s.PatchMetadata(t.Context(), base, p), s.Delete(key)); err != nil {
		t.Fatal(err)
	}
	abandon := document("a", 5)
	abandon.Annotations = map[string]string{egress_v1alpha1.AbandonAnnotation: "true"}
	if changed, err := s.Apply(abandon, "a.yaml", 1); !errors.Is(err, ErrLeaving) || !changed {
		t.Fatalf("changed %t, error %v", changed, err)
	}
	p = get(t, s, key)
	if p.DeletionTimestamp == nil || p.Spec.Endpoint.Port != 1 || p.Annotations[egress_v1alpha1.AbandonAnnotation] != "true" {
		t.Errorf("is %+v", p)
	}
	base = p.DeepCopy()
	p.Finalizers = nil
	if err := s.PatchMetadata(t.Context(), base, p); err != nil {
		t.Fatal(err)
	}
	if s.Record(key) != nil {
		t.Error("stays without a finalizer")
	}
	if changed, err := s.Apply(document("a", 5), "a.yaml", 1); err != nil || !changed || get(t, s, key).UID == p.UID {
		t.Errorf("changed %t, error %v; the new one has UID %s", changed, err, get(t, s, key).UID)
	}
}

func get(t *testing.T, s *Store, key types.NamespacedName) *proxy {
	t.Helper()
	p, err := s.Proxy(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
