package controller_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/controller"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
	"github.com/gatehouse-proxy/gatehouse/test/cluster"
)

// leader is a controller that leads, in a lab.
func leader(t *testing.T) (lab, reconcile.Objects) {
	t.Helper()
	l := newLab(t, cluster.Shared(t))
	p := run(t, l.options(), controller.Work{Reconcile: new(passes).reconcile})
	until(t, "it leads", p.leads)
	return l, p.Objects()
}

// TestMetadataIsPatchedAlone: annotations and finalizers are written, what others wrote
// meanwhile stays, and the status that is being prepared is not lost.
func TestMetadataIsPatchedAlone(t *testing.T) {
	l, objects := leader(t)
	l.create(t, external("a"))
	base, err := objects.Current(t.Context(), l.key("a"))
	if err != nil {
		t.Fatal(err)
	}
	theirs := base.DeepCopy()
	theirs.Annotations = map[string]string{"theirs": "1", "egress.gatehouse.dev/retry": "x"}
	if err := l.Update(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	p := base.DeepCopy()
	p.Annotations = map[string]string{egress_v1alpha1.SpecHashAnnotation: "h"}
	p.Status.ProviderID = "staged"
	if err := objects.PatchMetadata(t.Context(), base, p); err != nil {
		t.Fatal(err)
	}
	got, err := objects.Proxy(t.Context(), l.key("a"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"theirs": "1", "egress.gatehouse.dev/retry": "x", egress_v1alpha1.SpecHashAnnotation: "h"}
	if diff := cmp.Diff(want, got.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if p.Status.ProviderID != "staged" || p.ResourceVersion != got.ResourceVersion || got.Status.ProviderID != "" {
		t.Errorf("after the patch: ours %q at %s, stored %q at %s", p.Status.ProviderID, p.ResourceVersion, got.Status.ProviderID, got.ResourceVersion)
	}
	gone := got.DeepCopy()
	delete(gone.Annotations, egress_v1alpha1.SpecHashAnnotation)
	if err := objects.PatchMetadata(t.Context(), got, gone); err != nil {
		t.Fatal(err)
	}
	if got, _ = objects.Proxy(t.Context(), l.key("a")); got.Annotations[egress_v1alpha1.SpecHashAnnotation] != "" || got.Annotations["theirs"] != "1" {
		t.Errorf("annotations are %v", got.Annotations)
	}
}

// TestFinalizersConflict: finalizers are a list, so that a patch of them is refused when
// somebody else has written since.
func TestFinalizersConflict(t *testing.T) {
	l, objects := leader(t)
	l.create(t, external("a"))
	base, err := objects.Current(t.Context(), l.key("a"))
	if err != nil {
		t.Fatal(err)
	}
	p := base.DeepCopy()
	p.Finalizers = []string{egress_v1alpha1.InstanceFinalizer}
	theirs := base.DeepCopy()
	theirs.Finalizers = []string{"example.org/theirs"}
	if err := l.Update(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	if err := objects.PatchMetadata(t.Context(), base, p); !errors.Is(err, reconcile.ErrConflict) {
		t.Fatalf("the patch says %v, want a conflict", err)
	}
	base, err = objects.Current(t.Context(), l.key("a"))
	if err != nil {
		t.Fatal(err)
	}
	p = base.DeepCopy()
	p.Finalizers = append(p.Finalizers, egress_v1alpha1.InstanceFinalizer)
	if err := objects.PatchMetadata(t.Context(), base, p); err != nil {
		t.Fatal(err)
	}
	base, p = p, p.DeepCopy()
	p.Finalizers = nil
	if err := objects.PatchMetadata(t.Context(), base, p); err != nil {
		t.Fatal(err)
	}
	if got, _ := objects.Current(t.Context(), l.key("a")); len(got.Finalizers) > 0 {
		t.Errorf("finalizers are %v", got.Finalizers)
	}
}

// TestStatusIsPatched: fields go and come, nothing is sent where nothing differs, and the
// next read is not older than the write.
func TestStatusIsPatched(t *testing.T) {
	l, objects := leader(t)
	l.create(t, external("a"))
	read := func() *egress_v1alpha1.Proxy {
		t.Helper()
		p, err := objects.Current(t.Context(), l.key("a"))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	base := read()
	p := base.DeepCopy()
	now := meta_v1.Now().Rfc3339Copy()
	p.Status = egress_v1alpha1.ProxyStatus{
		Phase: egress_v1alpha1.PhaseProvisioned, IP: "192.0.2.1", InstanceCreatedAt: &now, Attempts: 3,
		Conditions: []meta_v1.Condition{{Type: "Provisioned", Status: "True", Reason: "Created", LastTransitionTime: now}},
	}
	p.Annotations = map[string]string{"not": "written"}
	if err := objects.PatchStatus(t.Context(), base, p); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		got, err := objects.Proxy(t.Context(), l.key("a"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p.Status, got.Status); diff != "" || got.Annotations != nil {
			t.Fatalf("status (-want +got):\n%s\nannotations %v", diff, got.Annotations)
		}
	}
	base, p = p, p.DeepCopy()
	p.Status.IP, p.Status.InstanceCreatedAt, p.Status.Attempts = "", nil, 0
	if err := objects.PatchStatus(t.Context(), base, p); err != nil {
		t.Fatal(err)
	}
	got := read()
	if diff := cmp.Diff(p.Status, got.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if err := objects.PatchStatus(t.Context(), got, got.DeepCopy()); err != nil || read().ResourceVersion != got.ResourceVersion {
		t.Errorf("a status without a difference was written: %v", err)
	}
}

// TestWritesMissWhatIsNotThere: neither an object that is gone nor one that has its name
// now is written to.
func TestWritesMissWhatIsNotThere(t *testing.T) {
	l, objects := leader(t)
	l.create(t, external("a"))
	base, err := objects.Current(t.Context(), l.key("a"))
	if err != nil {
		t.Fatal(err)
	}
	p := base.DeepCopy()
	p.Annotations, p.Status.IP = map[string]string{"a": "b"}, "192.0.2.9"
	finalized := base.DeepCopy()
	finalized.Finalizers = []string{egress_v1alpha1.InstanceFinalizer}
	write := func(state string) {
		t.Helper()
		if err := objects.PatchStatus(t.Context(), base, p.DeepCopy()); !errors.Is(err, reconcile.ErrNoObject) {
			t.Errorf("%s: the status patch says %v", state, err)
		}
		if err := objects.PatchMetadata(t.Context(), base, p.DeepCopy()); !errors.Is(err, reconcile.ErrNoObject) {
			t.Errorf("%s: the metadata patch says %v", state, err)
		}
		err := objects.PatchMetadata(t.Context(), base, finalized.DeepCopy())
		if !errors.Is(err, reconcile.ErrNoObject) && !errors.Is(err, reconcile.ErrConflict) {
			t.Errorf("%s: the patch of finalizers says %v", state, err)
		}
	}
	if err := l.Delete(t.Context(), base.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	write("gone")
	if _, err := objects.Current(t.Context(), l.key("a")); !errors.Is(err, reconcile.ErrNoObject) {
		t.Errorf("Current says %v", err)
	}
	if _, err := objects.Secret(t.Context(), l.key("a")); !errors.Is(err, reconcile.ErrNoObject) {
		t.Errorf("Secret says %v", err)
	}
	l.create(t, external("a"))
	write("another one")
	got, err := objects.Current(t.Context(), l.key("a"))
	if err != nil || got.Status.IP != "" || got.Annotations != nil || got.Finalizers != nil {
		t.Errorf("the new object has %+v, %v", got, err)
	}
}

// TestReads: what was created is soon in the list, and Secrets are read whole.
func TestReads(t *testing.T) {
	l, objects := leader(t)
	l.create(t, external("a"))
	l.create(t, secret("s"))
	until(t, "the Proxy is listed", func(ctx context.Context) error {
		all, err := objects.Proxies(ctx)
		if err != nil || len(all) != 1 || all[0].Name != "a" {
			return fmt.Errorf("the list is %v, %w", all, err)
		}
		return nil
	})
	s, err := objects.Secret(t.Context(), l.key("s"))
	if err != nil || string(s.Data["username"]) != "u" {
		t.Errorf("the Secret is %v, %v", s, err)
	}
	if _, err := objects.Proxy(t.Context(), types.NamespacedName{Namespace: l.ns, Name: "b"}); !errors.Is(err, reconcile.ErrNoObject) {
		t.Errorf("Proxy says %v", err)
	}
}
